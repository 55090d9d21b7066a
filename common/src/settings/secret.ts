// Values that must not appear in a log, an error or a page. They are in memory in plain text.
import { inspect } from "node:util";

/** The text that is printed instead of a secret. */
export const REDACTED = "[redacted]";

/** A secret text. It is printed as "[redacted]"; only {@link Secret.reveal} returns the value. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value, for the call that authenticates; never for a message. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/**
 * The text with the credentials of URLs replaced: `redis://user:pass@host` becomes
 * `redis://[redacted]@host`. Replaces up to the last "@" of a word: in a list of URLs it may hide
 * too much, never too little.
 */
export function maskCredentials(text: string): string {
  return text.replaceAll(/:\/\/\S*@/g, `://${REDACTED}@`);
}
