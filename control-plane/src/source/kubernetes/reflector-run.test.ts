// Tests of reflector-run.ts: how long it waits and what it tells while every request is refused, and afterwards.
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { ApiClient, WatchListener } from "./api-client.ts";
import { ApiFailure, type FailureKind } from "./api-failure.ts";
import { rateLimitConfigsIn } from "./api-resource.ts";
import { createProblemLog } from "./problem-log.ts";
import { runReflector, type RunningReflector } from "./reflector-run.ts";

const RESOURCE = rateLimitConfigsIn(undefined);

const PACE = { backoffInitialMs: 250, backoffMaxMs: 5000, slowMs: 15_000 };

/** An API server on which lists and watches succeed or fail as the test says. */
class ScriptedClient implements ApiClient {
  /** When requests came, milliseconds since the beginning of the test. */
  readonly requestsMs: number[] = [];
  fails: FailureKind | undefined;
  /** Fails the watch that is open. */
  cut: (kind: FailureKind, retryAfterMs?: number) => void = () => undefined;
  #listener: WatchListener | undefined;

  list(): ReturnType<ApiClient["list"]> {
    this.requestsMs.push(Date.now());
    if (this.fails !== undefined) return Promise.reject(new ApiFailure(this.fails, { verb: "list", resource: RESOURCE }, this.fails));
    return Promise.resolve({ objects: [], resourceVersion: "1", continueToken: "" });
  }

  watch(_request: unknown, _from: unknown, listener: WatchListener): ReturnType<ApiClient["watch"]> {
    this.requestsMs.push(Date.now());
    if (this.fails !== undefined) return Promise.reject(new ApiFailure(this.fails, { verb: "watch", resource: RESOURCE }, this.fails));
    this.#listener = listener;
    listener.opened();
    return new Promise((_resolve, reject) => {
      this.cut = (kind, retryAfterMs = 0) => reject(new ApiFailure(kind, { verb: "watch", resource: RESOURCE }, kind, { retryAfterMs }));
    });
  }

  /** Something moves on, as on a healthy watch. */
  bookmark(): void {
    this.#listener?.event({ kind: "bookmark", resourceVersion: "2" });
  }

  close(): void {
    // There are no connections.
  }

  /** The times between the requests from this one on. */
  waitsFrom(first: number): readonly number[] {
    return this.requestsMs.slice(first + 1).map((ms, index) => ms - (this.requestsMs[first + index] ?? 0));
  }
}

describe("runReflector()", () => {
  let client: ScriptedClient;
  let reflector: RunningReflector;
  const lines: string[] = [];

  beforeEach(async () => {
    vi.useFakeTimers({ now: 0 });
    lines.length = 0;
    client = new ScriptedClient();
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push((JSON.parse(line) as { "@message": string })["@message"]),
    });
    const sink = { size: () => 0, replace: () => undefined, put: () => undefined, delete: () => undefined };
    const counters = { listed: () => undefined, watched: () => undefined, failed: () => undefined };
    // Jitter leaves half of every wait.
    const problems = createProblemLog({ log, isServing: () => true });
    const deps = { client, sink, log, problems, counters, clock: Date.now, random: () => 0 };
    reflector = runReflector(deps, RESOURCE, PACE);
    await vi.advanceTimersByTimeAsync(0);
  });

  afterEach(() => {
    reflector.stop();
    vi.useRealTimers();
  });

  it("asks again soon when an API server that has just started refuses what it allows, and tells nobody to grant it", async () => {
    client.fails = "refused";
    client.cut("refused");
    await vi.advanceTimersByTimeAsync(0);
    expect(reflector.condition().problem).toBe("Cannot watch ratelimitconfigs.ratelimit.weir.dev in all namespaces: refused");
    client.fails = undefined;
    await vi.advanceTimersByTimeAsync(125);
    // A list, and the watch from there.
    expect(client.waitsFrom(1)).toEqual([125, 0]);
    expect(reflector.condition().problem).toBeUndefined();
    expect(lines).toEqual([]);
  });

  it("asks ever more rarely, and tells it once, while it is refused, and from the beginning after it was well", async () => {
    client.fails = "refused";
    client.cut("refused");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(client.waitsFrom(1)).toEqual([125, 250, 500, 1000, 2000, 4000, 7500, 7500, 7500, 7500, 7500, 7500]);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays in force"]);
    client.fails = undefined;
    await vi.advanceTimersByTimeAsync(7500 + 5000);
    expect(lines.at(-1)).toBe("Following the API server again");
    client.bookmark();
    const healthy = client.requestsMs.length - 1;
    client.fails = "refused";
    client.cut("refused");
    await vi.advanceTimersByTimeAsync(1000);
    expect(client.waitsFrom(healthy + 1)).toEqual([250, 500]);
  });

  it("tells nobody of a connection that was cut once, and once of one that is cut again and again", async () => {
    for (let cut = 1; cut <= 3; cut += 1) {
      await vi.advanceTimersByTimeAsync(5000);
      client.cut("unreachable");
      await vi.advanceTimersByTimeAsync(125);
      expect(reflector.condition().problem).toBeUndefined();
    }
    expect(lines).toEqual([]);
    for (let cut = 1; cut <= 5; cut += 1) {
      client.cut("unreachable");
      await vi.advanceTimersByTimeAsync(4000);
    }
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays in force"]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays in force", "Following the API server again"]);
  });

  it("leaves a busy API server alone for as long as it asks", async () => {
    const asked = client.requestsMs.length;
    client.cut("unavailable", 7000);
    await vi.advanceTimersByTimeAsync(6999);
    expect(client.requestsMs.length).toBe(asked);
    await vi.advanceTimersByTimeAsync(1);
    expect(client.requestsMs.length).toBe(asked + 1);
  });

  it("asks for nothing more after it has stopped, whatever it waits for", async () => {
    client.fails = "unreachable";
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(1000);
    reflector.stop();
    const asked = client.requestsMs.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([client.requestsMs.length, vi.getTimerCount()]).toEqual([asked, 0]);
  });

  it("waits no longer than the longest back-off however long the API server is away, so that changes come soon after it is back", async () => {
    client.fails = "unreachable";
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Math.max(...client.waitsFrom(1))).toBe(2500);
    client.fails = undefined;
    await vi.advanceTimersByTimeAsync(2500);
    expect(reflector.condition().problem).toBeUndefined();
  });
});
