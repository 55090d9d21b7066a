// A file with a secret that is read again when it changes. Keeps the last value that is not empty.
import { readFileSync } from "node:fs";

import { describeError } from "../errors/service-error.ts";
import { FileWatch } from "../files/file-watch.ts";
import type { Part } from "../lifecycle/lifecycle.ts";
import { Listeners } from "../lifecycle/listeners.ts";
import type { Log } from "../log/log.ts";
import { type SecretSource, secretInFile } from "../settings/secret.ts";

/** The secret in the file when the settings were read. */
export interface FirstSecret {
  readonly path: string;
  readonly value: string;
}

/** A file, watched from `start` to `stop`, and its last value. */
export class SecretFile implements Part, SecretSource {
  readonly name = "secret file";
  readonly #path: string;
  readonly #log: Log;
  readonly #watch: FileWatch;
  readonly #listeners = new Listeners();
  #current: string;
  /** The last problem, so that it is logged once. */
  #problem: string | undefined;

  constructor(
    { path, value }: FirstSecret,
    { log }: { readonly log: Log },
    { pollIntervalMs }: { readonly pollIntervalMs?: number } = {},
  ) {
    this.#path = path;
    this.#current = value;
    this.#log = log;
    this.#watch = new FileWatch({ log, mayHaveChanged: () => this.#refresh() }, { paths: [path], pollIntervalMs });
  }

  /** Begins to watch the file, and applies what has changed since it was read. */
  start(): void {
    this.#watch.start();
  }

  /** Ends watching; listeners are not called any more. */
  stop(): void {
    this.#watch.stop();
    this.#listeners.clear();
  }

  /** The last value that was not empty. */
  current(): string {
    return this.#current;
  }

  /** Calls the listener after each change; returns the function that ends this. */
  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Reads the file now, for SIGHUP. */
  reload(): void {
    this.#problem = undefined; // Requested by a person: log again what is wrong.
    this.#refresh();
  }

  #refresh(): void {
    const value = this.#read();
    if (value === undefined) return;
    this.#problem = undefined;
    if (value === this.#current) return;
    this.#current = value;
    this.#log.info("Reloaded a secret", { path: this.#path });
    this.#listeners.notify();
  }

  /** The value; undefined when the file has none. */
  #read(): string | undefined {
    let problem: string;
    try {
      const value = secretInFile(readFileSync(this.#path, "utf8"));
      if (value !== "") return value;
      problem = "it is empty";
    } catch (error) {
      problem = describeError(error);
    }
    if (problem !== this.#problem)
      this.#log.warn("Cannot use the changed secret, the old one stays active", { path: this.#path, problem });
    this.#problem = problem;
    return undefined;
  }
}
