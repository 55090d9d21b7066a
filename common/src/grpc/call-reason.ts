// Describes why a call of grpc-js failed, without the notes that the library and Node append for
// people who start programs by hand.
import { describeError } from "../errors/service-error.ts";

const NOTES = [
  /\.? Resolution note: *$/,
  /; if the root CA is installed locally, try running Node\.js with --use-system-ca/,
  // When the last connection failed: with it no reason would equal the one before.
  / *\(\d{4}-\d\d-\d\dT[\d:.]+Z\)/,
];

/** An error of OpenSSL as Node prints it: numbers, function, reason, source file and line. */
const OPENSSL_ERROR = /[0-9A-F]{8,}:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):[^:]*:\d+:(SSL alert number \d+)?(; *)?/;

/** The error in one line, without such notes. */
export function callReason(error: unknown): string {
  return NOTES.reduce((text, note) => text.replace(note, ""), describeError(error))
    .replace(OPENSSL_ERROR, 'TLS failed with "$1" ')
    .trimEnd();
}
