// Values that must not reach a log, an error or a page. Not encryption: the value is in memory in
// the clear.
import { inspect } from "node:util";

/** What stands in the place of a secret wherever it would be printed. */
export const REDACTED = "[redacted]";

/**
 * A secret text. Every way of printing it gives "[redacted]"; only {@link Secret.reveal} gives the
 * value, at the place that needs it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself, for the call that authenticates; never for a message. */
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
 * The text with the credentials of URLs in it replaced: `redis://user:pass@host` becomes
 * `redis://[redacted]@host`. Goes to the last "@" of a word: in a list of URLs it hides too much
 * rather than too little.
 */
export function maskCredentials(text: string): string {
  return text.replaceAll(/:\/\/\S*@/g, `://${REDACTED}@`);
}
