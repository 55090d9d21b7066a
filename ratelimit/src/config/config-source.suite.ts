// What every source of configuration must do, whatever its wire: a test file of each source runs
// this suite over it with real files or a real server.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { findSetProblems } from "@weir/limits/validate/validate";
import { afterEach, describe, expect, it } from "vitest";

import type { ConfigListener, ConfigSource } from "./config-source.ts";
import { ConfigError } from "./errors.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 40_000;

/** A world in which a source works. */
export interface SourceWorld {
  readonly source: ConfigSource;
  /** Publishes configurations of these domains, each with one rule, instead of what was there. */
  publish(domains: readonly string[]): Promise<void>;
  /** Publishes something that no source can read. */
  publishGarbage(): Promise<void>;
  /** Ends the world; the source was stopped before. */
  close(): Promise<void>;
}

/** Takes configurations as the service does, and remembers what happened. */
export class RecordingListener implements ConfigListener {
  /** The active configuration. */
  configs: readonly RateLimitConfigModel[] = [];
  readonly accepted: string[] = [];
  readonly errors: string[] = [];
  #changed = Promise.withResolvers<void>();

  apply(configs: readonly RateLimitConfigModel[]): ConfigError | undefined {
    const [problem] = findSetProblems(configs, { mergeDomains: false });
    if (problem !== undefined) {
      const error = new ConfigError("CONFIG_INVALID", `${configs[problem.config]?.name ?? ""}: ${problem.message}`, {
        problem,
      });
      this.errors.push(error.message);
      this.#notify();
      return error;
    }
    this.configs = configs;
    this.accepted.push(this.domains().join(","));
    this.#notify();
    return undefined;
  }

  reject(error: ConfigError): void {
    this.errors.push(error.message);
    this.#notify();
  }

  /** Active domains, sorted. */
  domains(): readonly string[] {
    return this.configs.map((config) => config.domain).sort();
  }

  /** Resolves when the condition holds; fails with what was seen when it does not in time. */
  async until(condition: () => boolean): Promise<void> {
    const deadline = AbortSignal.timeout(WAIT_MAX_MS);
    while (!condition()) {
      const aborted = new Promise<never>((_resolve, reject) => {
        deadline.addEventListener("abort", () =>
          reject(
            new Error(
              `waited in vain; accepted ${JSON.stringify(this.accepted)}, errors ${JSON.stringify(this.errors)}`,
            ),
          ),
        );
      });
      await Promise.race([this.#changed.promise, aborted]);
    }
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    resolve();
  }
}

/**
 * Runs the suite. `open` makes a new world whose source is not started and reports to the listener.
 */
export function describeConfigSource(what: string, open: (listener: ConfigListener) => Promise<SourceWorld>): void {
  describe(`${what} as a ConfigSource`, () => {
    let world: SourceWorld | undefined;
    afterEach(async () => {
      await world?.source.stop();
      await world?.close();
      world = undefined;
    });

    async function start(domains: readonly string[]): Promise<{ world: SourceWorld; listener: RecordingListener }> {
      const listener = new RecordingListener();
      world = await open(listener);
      await world.publish(domains);
      await world.source.start();
      return { world, listener };
    }

    it("start() brings what is there", async () => {
      const { listener } = await start(["a", "b"]);
      await listener.until(() => listener.accepted.length > 0);
      expect(listener.domains()).toEqual(["a", "b"]);
      expect(listener.errors).toEqual([]);
    });

    it("start() brings an empty set when there is nothing", async () => {
      const { listener } = await start([]);
      await listener.until(() => listener.accepted.length > 0);
      expect(listener.domains()).toEqual([]);
    });

    it("a source brings each new set as a whole when it changes", async () => {
      const { world: running, listener } = await start(["a"]);
      await listener.until(() => listener.domains().join() === "a");
      await running.publish(["b", "c"]);
      await listener.until(() => listener.domains().join() === "b,c");
      await running.publish([]);
      await listener.until(() => listener.domains().join() === "");
      expect(listener.errors).toEqual([]);
    });

    it("a source rejects what it cannot read, and brings the next good set", async () => {
      const { world: running, listener } = await start(["a"]);
      await listener.until(() => listener.domains().join() === "a");
      await running.publishGarbage();
      await listener.until(() => listener.errors.length > 0);
      expect(listener.domains()).toEqual(["a"]);
      await running.publish(["b"]);
      await listener.until(() => listener.domains().join() === "b");
    });

    it("start() resolves when the first set is bad", async () => {
      const listener = new RecordingListener();
      world = await open(listener);
      await world.publishGarbage();
      await world.source.start();
      await listener.until(() => listener.errors.length > 0);
      await world.publish(["a"]);
      await listener.until(() => listener.domains().join() === "a");
    });

    it("reload() brings the set again when nothing changed", async () => {
      const { world: running, listener } = await start(["a"]);
      await listener.until(() => listener.accepted.length > 0);
      const before = listener.accepted.length;
      running.source.reload();
      await listener.until(() => listener.accepted.length > before);
      expect(listener.domains()).toEqual(["a"]);
    });

    it("stop() ends it: nothing is brought afterwards", async () => {
      const { world: running, listener } = await start(["a"]);
      await listener.until(() => listener.accepted.length > 0);
      await running.source.stop();
      const before = listener.accepted.length;
      await running.publish(["b"]);
      running.source.reload();
      await new Promise((resolve) => setImmediate(resolve));
      expect(listener.accepted).toHaveLength(before);
    });
  });
}
