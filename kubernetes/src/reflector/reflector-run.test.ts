// Tests of reflector-run.ts: its waits and log lines while requests fail and afterwards, its calls of
// the sink and its condition.
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { ApiClient, WatchEnd, WatchFrom, WatchListener } from "../client/api-client.ts";
import { ApiFailure, type FailureKind } from "../client/api-failure.ts";
import type { ApiResource } from "../client/api-resource.ts";
import type { KubernetesObject, ObjectPage } from "../client/kubernetes-object.ts";
import { ProblemLog } from "./problem-log.ts";
import type { ListedPage } from "./reflector.ts";
import { NO_FAILURES, type ReflectorCounts, ReflectorRun } from "./reflector-run.ts";

const RESOURCE: ApiResource = {
  group: "ratelimit.weir.dev",
  version: "v1alpha1",
  plural: "ratelimitconfigs",
  namespace: undefined,
  labelSelector: undefined,
};

function objectOf(name: string): KubernetesObject {
  return { name, namespace: "team", uid: name, resourceVersion: "9", generation: 1, content: {} };
}

const [A, B, C] = [objectOf("a"), objectOf("b"), objectOf("c")];

const PACE = { backoffInitialMs: 250, backoffMaxMs: 5000, slowMs: 15_000 };

/** A client whose lists and watches succeed or fail as the test decides. */
class ScriptedClient implements Pick<ApiClient, "list" | "watch"> {
  /** When requests came, milliseconds since the beginning of the test. */
  readonly requestsMs: number[] = [];
  /** The `from` argument of each watch. */
  readonly watchesFrom: WatchFrom[] = [];
  fails: FailureKind | undefined;
  /** The pages that the next lists return; after these, lists are empty. */
  pages: ObjectPage[] = [];
  /** The signal of the request that came last. */
  signal: AbortSignal | undefined;
  /** Fails the watch that is open. */
  cut: (kind: FailureKind, retryAfterMs?: number) => void = () => undefined;
  /** Ends the watch that is open. */
  end: (end: WatchEnd) => void = () => undefined;
  /** Sends an event on the watch that is open. */
  send: WatchListener["event"] = () => undefined;
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  list(_request: unknown, _page: unknown, signal: AbortSignal): ReturnType<ApiClient["list"]> {
    this.requestsMs.push(this.#clock());
    this.signal = signal;
    if (this.fails !== undefined)
      return Promise.reject(new ApiFailure(this.fails, { verb: "list", resource: RESOURCE }, this.fails));
    return Promise.resolve(this.pages.shift() ?? { objects: [], resourceVersion: "1", continueToken: "" });
  }

  watch(
    _request: unknown,
    from: WatchFrom,
    listener: WatchListener,
    signal: AbortSignal,
  ): ReturnType<ApiClient["watch"]> {
    this.requestsMs.push(this.#clock());
    this.watchesFrom.push(from);
    this.signal = signal;
    if (this.fails !== undefined)
      return Promise.reject(new ApiFailure(this.fails, { verb: "watch", resource: RESOURCE }, this.fails));
    listener.opened();
    return new Promise((resolve, reject) => {
      this.cut = (kind, retryAfterMs = 0) =>
        reject(new ApiFailure(kind, { verb: "watch", resource: RESOURCE }, kind, { retryAfterMs }));
      this.end = resolve;
      this.send = (event) => {
        try {
          listener.event(event);
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error))); // An error of the listener ends the watch.
        }
      };
    });
  }

  /** Brings an object on the watch that is open. */
  bring(kind: "put" | "delete", object: KubernetesObject): void {
    this.send({ kind, object });
  }

  /** The version moves on, as on a healthy watch. */
  bookmark(resourceVersion = "2"): void {
    this.send({ kind: "bookmark", resourceVersion });
  }

  /** The times between the requests from this one on. */
  waitsFrom(first: number): readonly number[] {
    return this.requestsMs.slice(first + 1).map((ms, index) => ms - (this.requestsMs[first + index] ?? 0));
  }
}

describe("ReflectorRun", () => {
  let client: ScriptedClient;
  let reflector: ReflectorRun;
  const lines: string[] = [];
  /** The calls of the sink, in short, and whether it lacks an object. */
  const sinkCalls: string[] = [];
  let needsList = false;
  /** The result of each call of the sink, and the number of changes that the reflector reported. */
  let isChanging = true;
  let changes = 0;
  let counts: ReflectorCounts;

  /**
   * Starts a reflector over a client of its own. Without a number, jitter leaves half of every
   * wait.
   */
  async function start(random = 0, prepare: (fresh: ScriptedClient) => void = () => undefined): Promise<void> {
    for (const list of [lines, sinkCalls]) list.length = 0;
    needsList = false;
    isChanging = true;
    changes = 0;
    client = new ScriptedClient(Date.now);
    prepare(client);
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push((JSON.parse(line) as { "@message": string })["@message"]),
    });
    const record = (change: string): boolean => {
      sinkCalls.push(change);
      return isChanging;
    };
    const sink = {
      take: ({ objects, isFirst, isLast }: ListedPage) =>
        record(
          `${isFirst ? "first" : "next"}${isLast ? " and last" : ""} page ${objects.map(({ name }) => name).join()}`,
        ),
      put: ({ name }: KubernetesObject) => record(`put ${name}`),
      delete: ({ name }: KubernetesObject) => record(`delete ${name}`),
      needsList: () => needsList,
    };
    counts = { lists: 0, watches: 0, failures: { ...NO_FAILURES } };
    const problems = new ProblemLog(log, () => reflector.condition().syncedMs !== undefined);
    const changed = (): void => void (changes += 1);
    const deps = { client, sink, changed, log, problems, counts, clock: Date.now, random: () => random };
    reflector = new ReflectorRun(deps, RESOURCE, PACE);
    await vi.advanceTimersByTimeAsync(0);
  }

  beforeEach(async () => {
    vi.useFakeTimers({ now: 0 });
    await start();
  });

  afterEach(() => {
    reflector.stop();
    vi.useRealTimers();
  });

  it("retries soon, without a log line, when an API server that has just started forbids what it allows later", async () => {
    client.fails = "refused";
    client.cut("refused");
    await vi.advanceTimersByTimeAsync(0);
    expect(reflector.condition().problem).toBe(
      "Cannot watch ratelimitconfigs.ratelimit.weir.dev in all namespaces: refused",
    );
    client.fails = undefined;
    await vi.advanceTimersByTimeAsync(125);
    // A list, and the watch from there.
    expect(client.waitsFrom(1)).toEqual([125, 0]);
    expect(reflector.condition().problem).toBeUndefined();
    expect(lines).toEqual([]);
  });

  it("logs a refusal after the API server was unreachable only when it is repeated", async () => {
    client.fails = "unreachable";
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(2500);
    expect(lines.length).toBe(1);
    const { length } = client.requestsMs;
    client.fails = "refused";
    while (client.requestsMs.length === length) await vi.advanceTimersByTimeAsync(1);
    expect([lines.length, reflector.condition().problem?.slice(-7)]).toEqual([1, "refused"]);
    while (client.requestsMs.length === length + 1) await vi.advanceTimersByTimeAsync(1);
    expect(lines.length).toBe(2);
  });

  it("waits longer after each refusal and logs it once, and begins with short waits after a recovery", async () => {
    client.fails = "refused";
    client.cut("refused");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(client.waitsFrom(1)).toEqual([125, 250, 500, 1000, 2000, 4000, 7500, 7500, 7500, 7500, 7500, 7500]);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays active"]);
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

  it("lists again within 10 s while a right is missing, and logs it once", async () => {
    client.fails = "forbidden";
    client.cut("forbidden");
    await vi.advanceTimersByTimeAsync(40_000);
    expect(client.waitsFrom(1)).toEqual([125, 250, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000, 5000, 5000]);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays active"]);
  });

  it("does not log a connection that was cut once, and logs one that is cut repeatedly once", async () => {
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
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays active"]);
    await vi.advanceTimersByTimeAsync(5000);
    expect(lines).toEqual([
      "Cannot follow the API server, what was read before stays active",
      "Following the API server again",
    ]);
  });

  it("does not log a recovery for watches that end soon while those between them fail", async () => {
    for (let count = 1; count <= 2; count += 1) {
      client.fails = "unreachable";
      client.cut("unreachable");
      await vi.advanceTimersByTimeAsync(0);
      client.fails = undefined;
      await vi.advanceTimersByTimeAsync(250);
      client.end("ended");
      await vi.advanceTimersByTimeAsync(1000);
    }
    client.fails = "unreachable";
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays active"]);
  });

  it("waits as long as a busy API server asks", async () => {
    const asked = client.requestsMs.length;
    client.cut("unavailable", 7000);
    await vi.advanceTimersByTimeAsync(6999);
    expect(client.requestsMs.length).toBe(asked);
    await vi.advanceTimersByTimeAsync(1);
    // A list, and the watch from there.
    expect(client.requestsMs.length).toBe(asked + 2);
  });

  it("sends no request after it has stopped", async () => {
    client.fails = "unreachable";
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(1000);
    reflector.stop();
    const asked = client.requestsMs.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([client.requestsMs.length, vi.getTimerCount()]).toEqual([asked, 0]);
  });

  it("waits at most the longest back-off while the API server is unreachable, so that changes come soon after", async () => {
    client.fails = "unreachable";
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(Math.max(...client.waitsFrom(1))).toBe(2500);
    client.fails = undefined;
    await vi.advanceTimersByTimeAsync(2500);
    expect(reflector.condition().problem).toBeUndefined();
  });

  it("passes every page and then every event to the sink, and is synced from the last page on", async () => {
    await start(0, (fresh) => {
      fresh.pages = [
        { objects: [A], resourceVersion: "7", continueToken: "more" },
        { objects: [B], resourceVersion: "7", continueToken: "" },
      ];
    });
    client.bring("put", C);
    client.bring("delete", A);
    expect(sinkCalls).toEqual(["first page a", "next and last page b", "put c", "delete a"]);
    expect(changes).toBe(4);
    isChanging = false;
    client.bring("put", C);
    expect([sinkCalls.at(-1), changes]).toEqual(["put c", 4]);
    expect(client.watchesFrom).toEqual([{ resourceVersion: "7", timeoutSeconds: 300 }]);
    expect(counts).toEqual({ lists: 1, watches: 1, failures: NO_FAILURES });
    expect(reflector.condition()).toEqual({ syncedMs: 0, problem: undefined });
  });

  it("is not synced before the last page, and logs that nothing is served when it fails", async () => {
    let isSynced = false;
    await start(0, (fresh) => (fresh.fails = "unreachable"));
    void reflector.synced.then(() => (isSynced = true));
    expect(lines).toEqual(["Cannot follow the API server, nothing is served yet"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([isSynced, sinkCalls, reflector.condition()]).toEqual([
      false,
      [],
      {
        syncedMs: undefined,
        problem: "Cannot list ratelimitconfigs.ratelimit.weir.dev in all namespaces: unreachable",
      },
    ]);
    expect(lines).toEqual(["Cannot follow the API server, nothing is served yet"]);
    client.fails = undefined;
    client.pages = [{ objects: [A], resourceVersion: "7", continueToken: "more" }];
    await vi.advanceTimersByTimeAsync(10_000);
    expect([isSynced, sinkCalls]).toEqual([true, ["first page a", "next and last page "]]);
    expect(lines.slice(1)).toEqual(["Following the API server again"]);
    // 125 + 250 + 500 ms of waiting failed in vain, the fourth list came at 1875 ms.
    expect([counts, reflector.condition().syncedMs]).toEqual([
      { lists: 5, watches: 1, failures: { ...NO_FAILURES, unreachable: 4 } },
      1875,
    ]);
  });

  it("is synced at every event of a watch and at its regular end, but not when it was silent", async () => {
    const syncedMs = async (afterMs: number, happen: () => void): Promise<number | undefined> => {
      await vi.advanceTimersByTimeAsync(afterMs);
      happen();
      await vi.advanceTimersByTimeAsync(0);
      return reflector.condition().syncedMs;
    };
    expect(await syncedMs(10_000, () => client.bookmark())).toBe(10_000);
    expect(await syncedMs(10_000, () => client.bring("put", A))).toBe(20_000);
    expect(await syncedMs(280_000, () => client.end("ended"))).toBe(300_000);
    // The next watch was opened immediately, from the version of the last one.
    expect(client.watchesFrom.map(({ resourceVersion }) => resourceVersion)).toEqual(["1", "9"]);
    await vi.advanceTimersByTimeAsync(10_000);
    client.fails = "unreachable";
    client.end("silent");
    await vi.advanceTimersByTimeAsync(0);
    expect(reflector.condition().syncedMs).toBe(300_000);
  });

  it.each<{ how: string; afterMs: number; end: WatchEnd; lists: number }>([
    { how: "at its time", afterMs: 300_000, end: "ended", lists: 1 },
    { how: "a second early, because clocks differ", afterMs: 299_000, end: "ended", lists: 1 },
    { how: "more than a second early", afterMs: 298_999, end: "ended", lists: 2 },
    { how: "silent", afterMs: 300_000, end: "silent", lists: 2 },
  ])("has listed $lists times when a watch of 300 s ends $how", async ({ afterMs, end, lists }) => {
    await vi.advanceTimersByTimeAsync(afterMs);
    client.end(end);
    await vi.advanceTimersByTimeAsync(125);
    expect([counts, lines]).toEqual([{ lists, watches: 2, failures: NO_FAILURES }, []]);
  });

  it.each<{ what: string; event: Parameters<WatchListener["event"]>[0] }>([
    { what: "a bookmark", event: { kind: "bookmark", resourceVersion: "8" } },
    { what: "an object", event: { kind: "put", object: { ...B, resourceVersion: "8" } } },
    { what: "a deletion", event: { kind: "delete", object: { ...A, resourceVersion: "8" } } },
  ])("lists again when $what has an older version than one before it, and does not take it", async ({ event }) => {
    client.bring("put", A);
    client.pages = [{ objects: [C], resourceVersion: "5", continueToken: "" }];
    client.send(event);
    await vi.advanceTimersByTimeAsync(125);
    expect([sinkCalls, client.watchesFrom.at(-1)?.resourceVersion, lines]).toEqual([
      ["first and last page ", "put a", "first and last page c"],
      "5",
      [],
    ]);
    expect(counts.failures).toEqual({ ...NO_FAILURES, expired: 1 });
  });

  it("lists at most every five seconds while each watch is cut soon after its first event", async () => {
    for (let cut = 1; cut <= 20; cut += 1) {
      client.bookmark();
      client.cut("unreachable");
      const { lists } = counts;
      while (counts.lists === lists) await vi.advanceTimersByTimeAsync(1);
    }
    // Half of the back-off, which is the least that jitter leaves.
    expect(client.waitsFrom(1).filter((ms) => ms > 0)).toEqual([
      ...[125, 250, 500, 1000, 2000],
      ...Array.from({ length: 15 }, () => 2500),
    ]);
  });

  it.each([
    { random: 0, waits: [125, 250, 500, 1000], timeoutSeconds: 300 },
    { random: 0.5, waits: [187.5, 375, 750, 1500], timeoutSeconds: 450 },
    { random: 0.999, waits: [249.875, 499.75, 999.5, 1999], timeoutSeconds: 600 },
  ])(
    "varies waits and the length of watches with $random, so that replicas do not act together",
    async ({ random, waits, timeoutSeconds }) => {
      await start(random);
      expect(client.watchesFrom[0]?.timeoutSeconds).toBe(timeoutSeconds);
      client.fails = "unavailable";
      client.cut("unavailable");
      await vi.advanceTimersByTimeAsync(5000);
      // A timer has whole milliseconds.
      expect(client.waitsFrom(1).slice(0, 4)).toEqual(waits.map(Math.floor));
    },
  );

  it("begins with short waits after a watch that lasted for a while, and not after short ones", async () => {
    for (const livedMs of [0, 0, 4999, 5000]) {
      await vi.advanceTimersByTimeAsync(livedMs);
      const index = client.requestsMs.length - 1;
      client.cut("unreachable");
      while (client.requestsMs.length === index + 1) await vi.advanceTimersByTimeAsync(1);
    }
    // Each list is followed by a watch immediately.
    expect(client.waitsFrom(1)).toEqual([125, 0, 250, 0, 4999 + 500, 0, 5000 + 125, 0]);
  });

  it("lists again without a log line when the version has expired", async () => {
    client.cut("expired");
    await vi.advanceTimersByTimeAsync(0);
    expect(reflector.condition().problem).toBeUndefined();
    await vi.advanceTimersByTimeAsync(200);
    expect([lines, reflector.condition().problem, counts]).toEqual([
      [],
      undefined,
      { lists: 2, watches: 2, failures: { ...NO_FAILURES, expired: 1 } },
    ]);
  });

  it("lists again, without a log line, when the sink has space for an object that it has left out", async () => {
    needsList = true;
    client.bring("delete", A);
    needsList = false;
    await vi.advanceTimersByTimeAsync(125);
    expect([sinkCalls, counts.lists, lines]).toEqual([
      ["first and last page ", "delete a", "first and last page "],
      2,
      [],
    ]);
  });

  it("sends no request, logs nothing and resolves synced when it is stopped while it waits or watches", async () => {
    await vi.advanceTimersByTimeAsync(5000);
    await start(0, (fresh) => (fresh.fails = "unreachable"));
    expect(vi.getTimerCount()).toBe(1);
    reflector.stop();
    expect(vi.getTimerCount()).toBe(0);
    await reflector.synced;
    const { length } = client.requestsMs;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([client.requestsMs.length, vi.getTimerCount()]).toEqual([length, 0]);
    await start();
    const { signal } = client;
    expect(signal?.aborted).toBe(false);
    reflector.stop();
    expect([signal?.aborted, vi.getTimerCount()]).toEqual([true, 0]);
    client.bring("put", A);
    client.cut("unreachable");
    await vi.advanceTimersByTimeAsync(60_000);
    expect([sinkCalls, lines, client.requestsMs.length]).toEqual([["first and last page "], [], 2]);
  });
});
