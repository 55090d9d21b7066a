// A pod that the control plane watches, as a process, with one process and with workers.
import { createHmac } from "node:crypto";
import { type ObserveStream, rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { eventually } from "@weir/harness/processes/eventually";
import {
  type CountersRead,
  KeyValues,
  type Observation,
  type TopKey,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WorkersFixture, type WorkersService } from "../workers/workers.suite.ts";

const RULE = { domain: "shop", path: "shop.k" };
const METHOD = "/weir.observe.v1.ObserveService/Observe";
const FLEET_KEY = Buffer.from("0123456789abcdef");

/** A sum over every step of every observation. */
function sum(observations: readonly Observation[], read: (observation: Observation) => readonly number[]): number {
  return observations.flatMap(read).reduce((total, value) => total + value, 0);
}

/** Totals of all observations, and those of the one rule. */
function totalsOf({ observations }: ObserveStream) {
  const rule = (field: "hits" | "overLimit") => (observation: Observation) =>
    observation.rules.flatMap((each) => each[field]);
  return {
    decisions: sum(observations, ({ totals }) => totals?.decisions ?? []),
    rejections: sum(observations, ({ totals }) => totals?.rejections ?? []),
    latencies: sum(observations, ({ totals }) => totals?.latencies.flatMap(({ buckets }) => buckets) ?? []),
    hits: sum(observations, rule("hits")),
    overLimit: sum(observations, rule("overLimit")),
  };
}

/** Returns the one value of each key as it is shown, its count and its error. */
function keysOf({ observations }: ObserveStream, list: "byRejections" | "byHits"): readonly unknown[] | undefined {
  const shownOf = ({ values: [value], count, error }: TopKey): readonly unknown[] => {
    const { shown } = value ?? { shown: undefined };
    return [
      shown?.case === "hash" ? Buffer.from(shown.value).toString("hex") : shown?.value,
      Number(count),
      Number(error),
    ];
  };
  const { keys } = observations.findLast((each) => each.keys.length > 0) ?? { keys: [] };
  return keys[0]?.[list].map(shownOf);
}

const hashOf = (value: string): string =>
  createHmac("sha256", FLEET_KEY).update(value).digest().subarray(0, 8).toString("hex");

describe.each(["1", "2"])("a watched pod with WORKERS=%s", (workers) => {
  let fixture: WorkersFixture;
  let server: ScriptedAdsServer;

  beforeEach(async () => {
    fixture = await WorkersFixture.open("domain: unused\ndescriptors: []\n");
    server = new ScriptedAdsServer();
    await server.open();
    server.publish("v1", [rateLimitConfig("shop")]);
  });

  afterEach(async () => {
    await fixture.close();
    server.close();
    expect(server.violations).toEqual([]);
  });

  async function start(env: Readonly<Record<string, string>> = {}): Promise<WorkersService> {
    const service = await fixture.start({
      WORKERS: workers,
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${server.port}`,
      CONFIG_GRPC_XDS_NODE_ID: "gateway/pod-7",
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "50ms",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "50ms",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "200ms",
      ...env,
    });
    await server.until(() => server.received.some(({ kind }) => kind === "ACK"));
    return service;
  }

  /** Asks about each value, over as many connections as there are workers. */
  async function ask(service: WorkersService, ...values: readonly string[]): Promise<void> {
    const clients = Array.from({ length: Number(workers) }, () => fixture.client(service.grpcAddress));
    for (const [index, value] of values.entries()) await clients[index % clients.length]?.ask("k", value, "shop");
  }

  async function observeStream(index = 0): Promise<ObserveStream> {
    return await eventually("the stream", () => {
      const stream = server.observeStreams[index];
      if (stream?.requests[0]?.content.case !== "hello") throw new Error("it has not said hello");
      return stream;
    });
  }

  it("sends nothing until it is watched, then what it has counted, and each second what it counts", async () => {
    server.watch = {};
    const service = await start();
    const stream = await observeStream();
    expect(stream.requests[0]?.content.value).toMatchObject({
      nodeId: "gateway/pod-7",
      topKeys: 32,
      keyValues: KeyValues.HASH,
    });
    await ask(service, "a", "a", "a", "b", "b", "c");
    const waitedUntilMs = Date.now() + 2500;
    await eventually("two seconds", () => expect(Date.now()).toBeGreaterThan(waitedUntilMs));
    expect(stream.observations).toEqual([]);

    const watchedMs = Date.now();
    stream.send({ totals: true, keysOf: [RULE, { domain: "shop", path: "shop.unknown" }], hashKey: FLEET_KEY });
    const first = { decisions: 6, rejections: 3, latencies: 6, hits: 6, overLimit: 3 };
    await eventually("the history", () => expect(totalsOf(stream)).toEqual(first));
    expect(stream.observations[0]).toMatchObject({ stepSeconds: 10, steps: 61, keys: [] });
    await eventually(
      "the keys",
      () =>
      expect(keysOf(stream, "byRejections")).toEqual([[hashOf("a"), 2, 0], [hashOf("b"), 1, 0]]), // prettier-ignore
    );
    expect(keysOf(stream, "byHits")).toEqual([[hashOf("a"), 3, 0], [hashOf("b"), 2, 0], [hashOf("c"), 1, 0]]); // prettier-ignore

    await ask(service, "c", "c");
    const rejectedMs = Date.now();
    await eventually("the rejections", () => expect(totalsOf(stream)).toMatchObject({ decisions: 8, overLimit: 5 }));
    expect(Date.now() - rejectedMs).toBeLessThan(2000);
    const seconds = stream.observations.filter(({ stepSeconds }) => stepSeconds === 1);
    expect(seconds.every(({ steps }) => steps === 1)).toBe(true);
    expect(seconds.every(({ startSeconds }) => Number(startSeconds) >= Math.floor(watchedMs / 1000) - 1)).toBe(true);

    stream.send({});
    // Observations may be on their way: the last is that after which none comes for more than a second.
    await ask(service, "d");
    const { length } = await eventually("the last observation", async () => {
      const sent = stream.observations;
      const untilMs = Date.now() + 1500;
      await eventually("more than a second", () => expect(Date.now()).toBeGreaterThan(untilMs));
      expect(stream.observations).toHaveLength(sent.length);
      return sent;
    });
    stream.send({ totals: true });
    await eventually("the history", () => expect(stream.observations.length).toBeGreaterThan(length));
    expect(stream.observations[length]).toMatchObject({ stepSeconds: 10 });
    expect(sum([stream.observations[length]!], ({ totals }) => totals?.decisions ?? [])).toBe(9);
  });

  it("shows values as its settings have it, and needs a key for hashes", async () => {
    server.watch = { keysOf: [RULE], hashKey: new Uint8Array() };
    const service = await start();
    const stream = await observeStream();
    await ask(service, "a", "a");
    await eventually("keys without values", () => expect(keysOf(stream, "byHits")).toEqual([[undefined, 2, 0]]));
    expect(totalsOf(stream)).toEqual({ decisions: 0, rejections: 0, latencies: 0, hits: 0, overLimit: 0 });
    const clear = await start({ TOP_KEYS_VALUES: "clear" });
    const second = await observeStream(1);
    await ask(clear, "b");
    await eventually("keys with values", () => expect(keysOf(second, "byHits")).toEqual([["b", 1, 0]]));
  });

  it("reads counters that it is asked for, also when nothing else is wanted, and counts nothing", async () => {
    server.watch = {};
    const service = await start();
    const stream = await observeStream();
    await ask(service, "a", "a", "a");
    const entries = [["a"], ["never"], ["a", "too many"]].map((values) => ({
      entries: values.map((value) => ({ key: "k", value })),
    }));
    const answers = (): readonly CountersRead[] =>
      stream.requests.flatMap(({ content }) => (content.case === "counters" ? [content.value] : []));
    // Each question comes twice: reading changes nothing.
    for (const id of [1, 2]) {
      stream.send({ read: { id, domain: "shop", descriptors: entries } });
      await eventually("the answer", () => expect(answers()).toHaveLength(id));
    }
    const limit = { limit: "1 per day", capacity: 1 };
    for (const { id, error, descriptors } of answers()) {
      expect([id > 0, error]).toEqual([true, ""]);
      expect(descriptors).toMatchObject([
        { path: "shop.k", limits: [{ ...limit, hits: 3n, remaining: 0 }] },
        { path: "shop.k", limits: [{ ...limit, hits: 0n, remaining: 1, retrySeconds: 0 }] },
        { path: "", limits: [] },
      ]);
      expect(descriptors[0]?.limits[0]?.retrySeconds).toBe(descriptors[0]?.limits[0]?.resetSeconds);
    }
    expect(stream.observations).toEqual([]);
    stream.send({ read: { id: 3, domain: "other", descriptors: entries } });
    await eventually("the reason", () =>
      expect(answers()[2]).toMatchObject({ id: 3, error: "no rules for the domain other" }),
    );
    await fixture.redis.stop();
    stream.send({ read: { id: 4, domain: "shop", descriptors: entries } });
    await eventually("the other reason", () =>
      expect(answers()[3]?.error).toMatch(/^Cannot count on 127\.0\.0\.1:\d+: /),
    );
  });

  it("opens the stream again when it ends, and begins anew", async () => {
    server.watch = { totals: true };
    const service = await start();
    const first = await observeStream();
    await ask(service, "a", "a");
    await eventually("the calls", () => expect(totalsOf(first).decisions).toBe(2));
    first.stream.end();
    const second = await observeStream(1);
    await eventually("the history", () => expect(second.observations[0]).toMatchObject({ stepSeconds: 10 }));
    expect(totalsOf(second).decisions).toBe(2);
    expect(second.socket).toBe(first.socket);
    // The configuration is on the same connection, and has not been disturbed.
    expect(server.received.filter(({ kind }) => kind === "subscribed")).toHaveLength(1);
  });

  it("does not ask a server again that has no such method, but asks the next one", async () => {
    await start();
    await eventually("the question", () => expect(server.refusedMethods).toEqual([METHOD]));
    for (const version of ["v2", "v3"]) {
      server.publish(version, [rateLimitConfig("shop"), rateLimitConfig(version)]);
      await server.until(() => server.received.at(-1)?.version === version);
    }
    const untilMs = Date.now() + 3000;
    await eventually("longer than a back-off", () => expect(Date.now()).toBeGreaterThan(untilMs));
    expect(server.refusedMethods).toEqual([METHOD]);
    server.watch = { totals: true };
    server.close();
    await server.open();
    await observeStream();
  });
});
