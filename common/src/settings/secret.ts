// Values that must not appear in a log, an error or a page. They are in memory in plain text.
import { inspect } from "node:util";

/** The text that is printed instead of a secret. */
export const REDACTED = "[redacted]";

/** The source of a secret whose value changes. */
export interface SecretSource {
  /** The present value. */
  current(): string;
  /** Calls the listener after each change; returns the function that ends this. */
  onChange(listener: () => void): () => void;
}

/** A secret text. It is printed as "[redacted]"; only {@link Secret.reveal} returns the value. */
export class Secret {
  readonly #source: string | SecretSource;
  /** The file that the value was read from; undefined when it is not from a file. */
  readonly path: string | undefined;

  constructor(source: string | SecretSource, { path }: { readonly path?: string | undefined } = {}) {
    this.#source = source;
    this.path = path;
  }

  /** The present value, for the call that authenticates; never for a message. */
  reveal(): string {
    return typeof this.#source === "string" ? this.#source : this.#source.current();
  }

  /** Calls the listener after each change of the value; returns the function that ends this. */
  onChange(listener: () => void): () => void {
    return typeof this.#source === "string" ? () => undefined : this.#source.onChange(listener);
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

/** The secret in the content of a file: one line end at its end is dropped. */
export function secretInFile(content: string): string {
  return content.replace(/\r?\n$/, "");
}

/**
 * The text with the credentials of URLs replaced: `redis://user:pass@host` becomes
 * `redis://[redacted]@host`. Replaces up to the last "@" of a word: in a list of URLs it may hide
 * too much, never too little.
 */
export function maskCredentials(text: string): string {
  return text.replaceAll(/:\/\/\S*@/g, `://${REDACTED}@`);
}
