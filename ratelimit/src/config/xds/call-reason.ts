// Why a call of grpc-js failed, in words that help: the library and Node add notes that are empty or meant for people who start programs by hand.
import { describeError } from "@weir/common/errors/service-error";

const NOTES = [/\.? Resolution note: *$/, /; if the root CA is installed locally, try running Node\.js with --use-system-ca/];

/** The error in one line, without such notes. */
export function callReason(error: unknown): string {
  return NOTES.reduce((text, note) => text.replace(note, ""), describeError(error));
}
