// Why a call of grpc-js failed, in words that help: the library and Node add notes that are empty
// or meant for people who start programs by hand.
import { describeError } from "@weir/common/errors/service-error";

const NOTES = [
  /\.? Resolution note: *$/,
  /; if the root CA is installed locally, try running Node\.js with --use-system-ca/,
];

/**
 * An error of OpenSSL as Node prints it: numbers, function, reason, and the place in its sources.
 */
const OPENSSL_ERROR = /[0-9A-F]{8,}:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):[^:]*:\d+:(SSL alert number \d+)?(; *)?/;

/** The error in one line, without such notes. */
export function callReason(error: unknown): string {
  return NOTES.reduce((text, note) => text.replace(note, ""), describeError(error))
    .replace(OPENSSL_ERROR, 'TLS failed with "$1" ')
    .trimEnd();
}
