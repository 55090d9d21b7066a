// The behaviour of every source of configuration: the test of each source runs this suite with real
// files or a real server.
import { eventually } from "@weir/harness/processes/eventually";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { findSetProblems } from "@weir/limits/validate/validate";
import { afterEach, describe, expect, it } from "vitest";

import type { ConfigListener, ConfigSource } from "./config-source.ts";
import { ConfigError } from "./errors.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 40_000;

/** A source, and what it reads. */
export interface SourceFixture {
  readonly source: ConfigSource;
  /** Makes a further source of the same. */
  readonly another: (listener: ConfigListener) => ConfigSource;
  /** Publishes configurations of these domains, each with one rule, instead of what was there. */
  publish(domains: readonly string[]): Promise<void>;
  /** Publishes something that no source can read. */
  publishGarbage(): Promise<void>;
  /** Removes what it reads; the source was stopped before. */
  close(): Promise<void>;
}

/** Takes configurations as the service does, and remembers what happened. */
export class RecordingListener implements ConfigListener {
  /** The active configuration. */
  configs: readonly RateLimitConfigModel[] = [];
  readonly accepted: string[] = [];
  readonly errors: string[] = [];
  /** How many sets it was given. */
  given = 0;
  /** Awaited before a set is active. */
  delay: Promise<void> | undefined;

  async apply(configs: readonly RateLimitConfigModel[]): Promise<ConfigError | undefined> {
    this.given += 1;
    await this.delay;
    const [problem] = findSetProblems(configs, { mergeDomains: false });
    if (problem !== undefined) {
      const error = new ConfigError("CONFIG_INVALID", `${configs[problem.config]?.name ?? ""}: ${problem.message}`, {
        problem,
      });
      this.errors.push(error.message);
      return error;
    }
    this.configs = configs;
    this.accepted.push(this.domains().join(","));
    return undefined;
  }

  reject(error: ConfigError): void {
    this.errors.push(error.message);
  }

  /** Active domains, sorted. */
  domains(): readonly string[] {
    return this.configs.map((config) => config.domain).sort();
  }

  /** Resolves when the condition is true; fails with the results when that takes too long. */
  async until(condition: () => boolean): Promise<void> {
    const results = (): string => `accepted ${JSON.stringify(this.accepted)}, errors ${JSON.stringify(this.errors)}`;
    const attempt = (): void => {
      if (!condition()) throw new Error(results());
    };
    await eventually("a result", attempt, WAIT_MAX_MS);
  }
}

/**
 * Runs the suite. `open` makes a fixture whose source is not started and reports to the listener.
 */
export function describeConfigSource(what: string, open: (listener: ConfigListener) => Promise<SourceFixture>): void {
  describe(`${what} as a ConfigSource`, () => {
    let fixture: SourceFixture | undefined;
    afterEach(async () => {
      await fixture?.source.stop();
      await fixture?.close();
      fixture = undefined;
    });

    async function start(domains: readonly string[]): Promise<{ fixture: SourceFixture; listener: RecordingListener }> {
      const listener = new RecordingListener();
      fixture = await open(listener);
      await fixture.publish(domains);
      await fixture.source.start();
      return { fixture, listener };
    }

    it("start() passes on the present set", async () => {
      const { listener } = await start(["a", "b"]);
      await listener.until(() => listener.accepted.length > 0);
      expect(listener.domains()).toEqual(["a", "b"]);
      expect(listener.errors).toEqual([]);
    });

    it("start() passes on an empty set when there is nothing", async () => {
      const { listener } = await start([]);
      await listener.until(() => listener.accepted.length > 0);
      expect(listener.domains()).toEqual([]);
    });

    it("a source passes on each new set as a whole when it changes", async () => {
      const { fixture: running, listener } = await start(["a"]);
      await listener.until(() => listener.domains().join() === "a");
      await running.publish(["b", "c"]);
      await listener.until(() => listener.domains().join() === "b,c");
      await running.publish([]);
      await listener.until(() => listener.domains().join() === "");
      expect(listener.errors).toEqual([]);
    });

    it("a source rejects what it cannot read, and passes on the next good set", async () => {
      const { fixture: running, listener } = await start(["a"]);
      await listener.until(() => listener.domains().join() === "a");
      await running.publishGarbage();
      await listener.until(() => listener.errors.length > 0);
      expect(listener.domains()).toEqual(["a"]);
      await running.publish(["b"]);
      await listener.until(() => listener.domains().join() === "b");
    });

    it("start() resolves when the first set is bad", async () => {
      const listener = new RecordingListener();
      fixture = await open(listener);
      await fixture.publishGarbage();
      await fixture.source.start();
      await listener.until(() => listener.errors.length > 0);
      await fixture.publish(["a"]);
      await listener.until(() => listener.domains().join() === "a");
    });

    it("reload() passes on the set again when nothing changed", async () => {
      const { fixture: running, listener } = await start(["a"]);
      await listener.until(() => listener.accepted.length > 0);
      const before = listener.accepted.length;
      running.source.reload();
      await listener.until(() => listener.accepted.length > before);
      expect(listener.domains()).toEqual(["a"]);
    });

    it("stop() ends it: nothing is passed on afterwards", async () => {
      const { fixture: running, listener } = await start(["a"]);
      await listener.until(() => listener.accepted.length > 0);
      await running.source.stop();
      const before = listener.accepted.length;
      await running.publish(["b"]);
      running.source.reload();
      const later = new RecordingListener();
      const another = running.another(later);
      await another.start();
      await later.until(() => later.domains().join() === "b");
      await another.stop();
      expect(listener.accepted).toHaveLength(before);
    });
  });
}
