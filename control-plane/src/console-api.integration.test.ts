// Tests of the API of the console: what scripted pods report over the connections of their discovery streams.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { createLog } from "@weir/common/log/log";
import type { ObserveStream } from "@weir/harness/ads/observe-stream";
import { ACK, ScriptedPod, type ScriptedPodOptions } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import {
  ChangeKind,
  ConsoleService,
  type FleetCounts,
  type WatchCountsResponse,
} from "@weir/proto/generated/weir/console/v1/console_pb";
import { CountSeries } from "@weir/proto/observe/count-series";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createTestCertificates, tlsOf } from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";

const USER = { domain: "alpha", path: "alpha.user" };

const UNAVAILABLE = 14;
const RESOURCE_EXHAUSTED = 8;
const INVALID_ARGUMENT = 3;

/** A client that watches, and what it has received. */
class Watch {
  readonly responses: WatchCountsResponse[] = [];
  readonly #closed = new AbortController();

  constructor(url: string, request: { readonly fleet?: string; readonly keysOf?: readonly (typeof USER)[] }) {
    void this.#follow(url, request);
  }

  close(): void {
    this.#closed.abort();
  }

  /** The last counts of a fleet. */
  fleet(name: string): FleetCounts | undefined {
    return this.responses.at(-1)?.fleets.find(({ fleet }) => fleet === name);
  }

  /** All that was counted, as a client adds it up. */
  counts(name: string): CountSeries {
    let series = new CountSeries();
    for (const { replaces, fleets } of this.responses) {
      if (replaces) series = new CountSeries();
      const counts = fleets.find(({ fleet }) => fleet === name)?.counts;
      if (counts !== undefined) series.add(counts, nowSeconds());
    }
    return series;
  }

  async #follow(url: string, { fleet = "", keysOf = [] }: ConstructorParameters<typeof Watch>[1]): Promise<void> {
    const client = createClient(ConsoleService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
    try {
      const request = { fleet, keysOf: [...keysOf] };
      for await (const response of client.watchCounts(request, { signal: this.#closed.signal }))
        this.responses.push(response);
    } catch (error) {
      if (!this.#closed.signal.aborted) throw error;
    }
  }
}

describe("API of the console", () => {
  let folder: string;
  let controlPlane: ControlPlane;
  let port: number;
  let lines: string[];
  const closing: { close(): void }[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "weir-console-api-"));
    writeFileSync(join(folder, "a.yaml"), manifest({ name: "a", domain: "alpha" }));
    port = await reservePort();
    lines = [];
  });

  afterEach(async () => {
    for (const each of closing.splice(0)) each.close();
    await controlPlane.lifecycle.stop();
    rmSync(folder, { recursive: true });
  });

  async function start(security: Readonly<Record<string, string>> = { ADS_PLAINTEXT: "true" }): Promise<void> {
    const listeners = { ADS_HOST: "127.0.0.1", ADS_PORT: "0", HTTP_HOST: "127.0.0.1", HTTP_PORT: "0" };
    const settings = parseSettings({
      ...{ SOURCE_DIRECTORY: folder, CONSOLE_PORT: String(port), ...listeners, ...security },
    });
    const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
    controlPlane = new ControlPlane({ log, clock: Date.now, tracer: undefined }, settings);
    await controlPlane.lifecycle.start();
  }

  function watch(request: ConstructorParameters<typeof Watch>[1] = {}): Watch {
    const watching = new Watch(`http://127.0.0.1:${port}`, request);
    closing.push(watching);
    return watching;
  }

  function transport() {
    return createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" });
  }

  /** A pod that has ACKed its rules. */
  async function connectPod(nodeId = "web/pod-1", tls?: ScriptedPodOptions["tls"]): Promise<ScriptedPod> {
    const pod = new ScriptedPod(controlPlane.ads.address()?.port ?? 0, { nodeId, answer: ACK, tls });
    closing.push(pod);
    await pod.response(1);
    return pod;
  }

  function observe(pod: ScriptedPod, nodeId = "web/pod-1"): ObserveStream {
    const stream = pod.observe();
    stream.send({ case: "hello", value: { nodeId, topKeys: 32 } });
    return stream;
  }

  it("asks pods for what they count while a client watches, and for nothing else", async () => {
    await start();
    const stream = observe(await connectPod());
    await eventually("the first answer", () => expect(stream.wanted).toHaveLength(1));
    expect(stream.wanted[0]).toMatchObject({ totals: false, keysOf: [], hashKey: new Uint8Array() });
    const watching = watch({ keysOf: [USER] });
    await eventually("what is wanted", () => expect(stream.wanted).toHaveLength(2));
    expect(stream.wanted[1]).toMatchObject({ totals: true, keysOf: [USER] });
    watching.close();
    await eventually("the end", () => expect(stream.wanted).toHaveLength(3));
    expect(stream.wanted[2]).toMatchObject({ totals: false, keysOf: [] });
  });

  it("adds up what the pods of a fleet report, with their last ten minutes", async () => {
    await start();
    const streams = [
      observe(await connectPod()),
      observe(await connectPod("web/pod-2"), "web/pod-2"),
      observe(await connectPod("other/pod-3"), "other/pod-3"),
    ];
    await connectPod("web/pod-4"); // Without observations, as one of envoyproxy/ratelimit.
    const watching = watch();
    for (const stream of streams) {
      await eventually("what is wanted", () => expect(stream.wanted.at(-1)?.totals).toBe(true));
      stream.send({ case: "observation", value: past(3) });
      stream.send({ case: "observation", value: second({ hits: 5, overLimit: 2 }) });
    }
    await eventually("the counts", () => {
      const web = watching.counts("web");
      const [rule] = web.rules();
      expect([web.sum("decisions"), rule?.rule.path, rule?.sum("hits"), rule?.sum("overLimit")]).toEqual([
        ...[16, "alpha.user", 16, 4],
      ]);
    });
    expect(watching.fleet("web")).toMatchObject({ pods: 3, observedPods: 2 });
    expect(watching.counts("other").sum("decisions")).toBe(8);
    expect(watching.responses.map(({ replaces }) => replaces)).toEqual(
      watching.responses.map((_, index) => index === 0),
    );
  });

  it("gives a client that comes later everything, and one fleet to a client that names it", async () => {
    await start();
    const stream = observe(await connectPod());
    const first = watch();
    await eventually("what is wanted", () => expect(stream.wanted.at(-1)?.totals).toBe(true));
    stream.send({ case: "observation", value: second({ hits: 5, overLimit: 2 }) });
    await eventually("the counts", () => expect(first.counts("web").sum("decisions")).toBe(5));
    const [all, one] = [watch(), watch({ fleet: "elsewhere" })];
    await eventually("both", () => expect([all.responses.length > 0, one.responses.length > 0]).toEqual([true, true]));
    expect(all.counts("web").sum("decisions")).toBe(5);
    expect(one.responses[0]?.fleets).toEqual([]);
  });

  it("sends a client that asks for JSON the same as others, and says why it ends", async () => {
    await start();
    const stream = observe(await connectPod());
    const url = `http://127.0.0.1:${port}`;
    const json = createClient(
      ConsoleService,
      createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false, acceptCompression: [] }),
    );
    const binary = createClient(ConsoleService, transport());
    const closed = new AbortController();
    closing.push({ close: () => closed.abort() });
    const [one, other] = [json, binary].map((client) =>
      client.watchCounts({ fleet: "web", keysOf: [USER] }, { signal: closed.signal })[Symbol.asyncIterator](),
    );
    await eventually("what is wanted", () => expect(stream.wanted.at(-1)?.totals).toBe(true));
    stream.send({ case: "observation", value: second({ hits: 5, overLimit: 2 }) });
    const first = async (from: typeof one): Promise<WatchCountsResponse> =>
      (await from!.next()).value as WatchCountsResponse;
    expect((await first(one)).fleets).toEqual((await first(other)).fleets);
    expect((await first(one)).fleets).toHaveLength(1);
    const unknown = await fetch(`${url}/weir.console.v1.ConsoleService/WatchCounts`, {
      method: "POST",
      headers: { "Content-Type": "application/connect+json" },
      body: Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), Buffer.from('{"x":1}')]),
    });
    const end = Buffer.from(await unknown.arrayBuffer());
    expect([unknown.status, end[0]]).toEqual([200, 2]);
    expect(JSON.parse(end.toString("utf8", 5))).toMatchObject({
      error: { code: "invalid_argument", message: expect.stringContaining('key "x" is unknown') as unknown },
    });
    const stopping = expect(first(one)).rejects.toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining("shutting down") as unknown,
    });
    await controlPlane.lifecycle.stop();
    await stopping;
  });

  it("drops rules that the pod was not sent", async () => {
    await start();
    const watching = watch();
    await eventually("the first answer", () => expect(watching.responses.length).toBeGreaterThan(0));
    const stream = observe(await connectPod());
    await eventually("what is wanted", () => expect(stream.wanted.at(-1)?.totals).toBe(true));
    const foreign = ["alpha.other", "beta.user"].map((path) => ({
      rule: { domain: path.split(".")[0]!, path },
      hits: [9],
    }));
    const value = second({ hits: 1, overLimit: 1 });
    stream.send({ case: "observation", value: { ...value, rules: [...foreign, ...value.rules] } });
    await eventually("the counts", () =>
      expect(
        watching
          .counts("web")
          .rules()
          .map(({ rule }) => rule.path),
      ).toEqual(["alpha.user"]),
    );
  });

  it("merges the keys of the rules that a client watches", async () => {
    await start();
    const streams = [observe(await connectPod()), observe(await connectPod("web/pod-2"), "web/pod-2")];
    const [watching, other] = [watch({ keysOf: [USER] }), watch()];
    for (const stream of streams) {
      await eventually("what is wanted", () =>
        expect(stream.wanted.at(-1)?.keysOf).toEqual([expect.objectContaining(USER)]),
      );
      const keys = { rule: USER, byRejections: [keyOf("ada", 4n), keyOf("bob", 1n)], rejections: 5n };
      stream.send({ case: "observation", value: { ...second({ hits: 5, overLimit: 5 }), keys: [keys] } });
    }
    await eventually("the keys", () => {
      const [rule] = watching.fleet("web")?.keys ?? [];
      expect(rule?.keys?.byRejections.map(({ values: [value], count }) => [value?.shown.value, count])).toEqual([
        ["ada", 8n],
        ["bob", 2n],
      ]);
    });
    expect(other.fleet("web")?.keys).toEqual([]);
  });

  it.each([
    {
      what: "of a node without a discovery stream",
      nodeId: "web/pod-9",
      code: UNAVAILABLE,
      text: "no discovery stream",
    },
    { what: "without a hello", nodeId: undefined, code: INVALID_ARGUMENT, text: "must be a hello" },
  ])("ends a stream $what", async ({ nodeId, code, text }) => {
    await start();
    const stream = (await connectPod()).observe();
    stream.send(nodeId === undefined ? undefined : { case: "hello", value: { nodeId } });
    const end = await stream.ended;
    expect([end.code, end.details]).toEqual([code, expect.stringContaining(text)]);
  });

  it("refuses a third stream of one connection", async () => {
    await start();
    const pod = await connectPod();
    const streams = [observe(pod), observe(pod)];
    await eventually("the answers", () => expect(streams.map(({ wanted }) => wanted.length)).toEqual([1, 1]));
    expect((await observe(pod).ended).code).toBe(RESOURCE_EXHAUSTED);
  });

  it("ends a stream with a message of more than 256 KiB", async () => {
    await start();
    const stream = observe(await connectPod());
    watch();
    await eventually("what is wanted", () => expect(stream.wanted.at(-1)?.totals).toBe(true));
    const rules = Array.from({ length: 3000 }, (_, index) => ({
      rule: { domain: "a", path: `a.${index}`.padEnd(100) },
    }));
    stream.send({ case: "observation", value: { ...second({ hits: 0, overLimit: 0 }), rules } });
    expect((await stream.ended).code).toBe(RESOURCE_EXHAUSTED);
  });

  it("ends the stream of a pod that sends too much, and logs the pod", async () => {
    await start();
    const stream = observe(await connectPod());
    watch();
    await eventually("what is wanted", () => expect(stream.wanted.at(-1)?.totals).toBe(true));
    const value = second({ hits: 1, overLimit: 1 });
    // Twice as many as ten seconds may have: they may begin in between.
    for (let message = 0; message < 1024; message++) stream.send({ case: "observation", value });
    const end = await stream.ended;
    expect([end.code, end.details]).toEqual([RESOURCE_EXHAUSTED, "more than 33554432 bytes have come in 10 s"]);
    expect(lines.filter((line) => line.includes("it sends too much"))).toEqual([
      expect.stringContaining('"pod":"web/pod-1"'),
    ]);
  });

  it("sends pods the key of their fleet over TLS, the same after a restart", async () => {
    const certificates = await createTestCertificates();
    const { certPath, keyPath, caPath } = certificates.server;
    const keys: string[] = [];
    for (const nodeId of ["web/pod-1", "other/pod-2", "web/pod-3"]) {
      await start({ ADS_TLS_CERT: certPath, ADS_TLS_KEY: keyPath, ADS_TLS_CLIENT_CACERT: caPath });
      const stream = observe(await connectPod(nodeId, tlsOf(await certificates.issueClient())), nodeId);
      await eventually("the key", () => expect(stream.wanted[0]?.hashKey).toHaveLength(32));
      keys.push(Buffer.from(stream.wanted[0]!.hashKey).toString("hex"));
      for (const each of closing.splice(0)) each.close();
      await controlPlane.lifecycle.stop();
    }
    certificates.remove();
    expect([keys[2] === keys[0], keys[1] === keys[0]]).toEqual([true, false]);
  });

  it("shows limits of rules, their resources, and what they were in the revision before", async () => {
    await start();
    await connectPod();
    const client = createClient(ConsoleService, transport());
    const rules = [USER, { domain: "alpha", path: "alpha.unknown" }, { domain: "beta", path: "beta.user" }];
    const before = { rule: USER, namespace: "default", name: "a", field: "spec.descriptors[0].rateLimit" };
    const shown = await client.getRules({ fleet: "web", rules, withDifference: true });
    expect(shown.rules).toMatchObject([
      { ...before, limit: "5 per minute", earlierLimit: "", shadowMode: false, difference: "" },
    ]);
    writeFileSync(join(folder, "a.yaml"), manifest({ name: "a", domain: "alpha", requestsPerUnit: 7 }));
    await eventually("the edit", async () => {
      const { rules: edited } = await client.getRules({ fleet: "web", rules, withDifference: true });
      const difference = expect.stringMatching(/^- +requestsPerUnit: 5\n\+ +requestsPerUnit: 7$/m) as unknown;
      expect(edited).toMatchObject([{ ...before, limit: "7 per minute", earlierLimit: "5 per minute", difference }]);
    });
    const { rules: without } = await client.getRules({ fleet: "web", rules });
    expect(without[0]?.difference).toBe("");
  });

  it("lists the changes since the start, the newest first", async () => {
    await start();
    const client = createClient(ConsoleService, transport());
    const began = await client.listChanges({});
    expect([began.changes, Number(began.since?.seconds) > 0]).toEqual([[], true]);
    const [a, b] = [join(folder, "a.yaml"), join(folder, "b.yaml")];
    const steps = [
      () => writeFileSync(a, manifest({ name: "a", domain: "alpha", requestsPerUnit: 7 })),
      () => writeFileSync(b, manifest({ name: "b", domain: "beta", fleets: ["web"] })),
      () => rmSync(a),
    ];
    for (const [index, step] of steps.entries()) {
      step();
      await eventually("the change", async () =>
        expect((await client.listChanges({})).changes).toHaveLength(index + 1),
      );
    }
    const { changes } = await client.listChanges({});
    expect(changes).toMatchObject([
      { namespace: "default", name: "a", kind: ChangeKind.REMOVED, digest: "" },
      {
        namespace: "default",
        name: "b",
        kind: ChangeKind.ADDED,
        fleets: ["web"],
        digest: expect.stringMatching(/^.+$/) as unknown,
      },
      {
        namespace: "default",
        name: "a",
        kind: ChangeKind.EDITED,
        fleets: [],
        digest: expect.stringMatching(/^.+$/) as unknown,
      },
    ]);
  });

  it("explains which rule limits a request", async () => {
    await start();
    const client = createClient(ConsoleService, transport());
    const entries = [[{ key: "user", value: "ada" }], [{ key: "plan", value: "gold" }]];
    const descriptors = entries.map((each) => ({ entries: each }));
    const { resource, descriptors: explained } = await client.explainRequest({
      fleet: "web",
      domain: "alpha",
      descriptors,
    });
    expect(resource).toBe("default/a");
    expect(explained).toMatchObject([
      {
        ...{ outcome: "limit", path: "alpha.user", limits: ["5 per minute"], shadowMode: false },
        counterKey: expect.stringMatching(/^alpha_user_ada_\d+$/) as unknown,
        levels: [{ entry: { key: "user", value: "ada" }, candidates: [{ rule: "user", verdict: "any-value" }] }],
      },
      { outcome: "no-rule", path: "", counterKey: "", levels: [{ candidates: [{ verdict: "key-differs" }] }] },
    ]);
    expect(await client.explainRequest({ fleet: "web", domain: "beta", descriptors })).toMatchObject({ resource: "" });
  });

  it("asks a pod of the fleet for the present counts, which ends no watch", async () => {
    await start();
    const client = createClient(ConsoleService, transport());
    const descriptors = [{ entries: [{ key: "user", value: "ada" }] }];
    const request = { fleet: "web", domain: "alpha", descriptors, withCounts: true };
    expect((await client.explainRequest(request)).counts).toMatchObject({
      pod: "",
      error: expect.stringContaining("no pod of the fleet") as unknown,
    });
    const old = observe(await connectPod("web/old"), "web/old");
    await eventually("the first answer", () => expect(old.wanted).toHaveLength(1));
    expect((await client.explainRequest(request)).counts).toMatchObject({
      pod: "web/old",
      error: expect.stringContaining("its version is older") as unknown,
    });
    const streams = ["other/pod", "web/pod-1"].map(async (nodeId) => {
      const stream = (await connectPod(nodeId)).observe();
      stream.send({ case: "hello", value: { nodeId, topKeys: 32, readsCounters: true } });
      await eventually("the first answer", () => expect(stream.wanted).toHaveLength(1));
      return stream;
    });
    const [other, asked] = await Promise.all(streams);
    const watching = watch({ fleet: "web" });
    await eventually("what is wanted", () => expect(asked?.wanted.at(-1)?.totals).toBe(true));
    const answer = client.explainRequest(request);
    const question = await eventually("the question", () => {
      const wanted = asked?.wanted.at(-1);
      expect(wanted).toMatchObject({ totals: true, read: { domain: "alpha", descriptors } });
      return wanted?.read;
    });
    const limits = [{ limit: "5 per minute", capacity: 5, hits: 3n, remaining: 2, resetSeconds: 9 }];
    const read = { descriptors: [{ path: "alpha.user", limits }] };
    other?.send({ case: "counters", value: { id: question!.id, descriptors: [{ path: "alpha.foreign" }] } });
    asked?.send({ case: "counters", value: { id: question!.id, ...read } });
    expect((await answer).counts).toMatchObject({ pod: "web/pod-1", error: "", ...read });
    expect([other?.wanted, old.wanted].flatMap((wanted) => wanted?.flatMap((each) => each.read ?? []))).toEqual([]);
    watching.close();
    await eventually("the end", () => expect(asked?.wanted.at(-1)).toMatchObject({ totals: false }));
    const again = client.explainRequest(request);
    await eventually("the question", () => expect(asked?.wanted.at(-1)?.read?.id).toBe(question!.id + 1));
    asked?.send({ case: "counters", value: { id: question!.id + 1, ...read } });
    expect((await again).counts).toMatchObject({ pod: "web/pod-1", error: "" });
    const none = { ...request, descriptors: [{ entries: [{ key: "plan", value: "gold" }] }] };
    expect((await client.explainRequest(none)).counts).toBeUndefined();
    expect((await client.explainRequest({ ...request, withCounts: false })).counts).toBeUndefined();
  });

  it("explains with the hundred nearest rules of a level, in configured order", async () => {
    const keys = [...Array.from({ length: 150 }, (_, index) => `k${index}`), "user"];
    const values = Array.from({ length: 60 }, (_, index) => ({ key: "user", value: `v${index}` }));
    const descriptors = [...keys.map((key) => ({ key })), ...values].map((each) => ({
      ...each,
      rateLimit: { unit: "minute", requestsPerUnit: 5 },
    }));
    const head = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitConfig", metadata: { name: "a" } };
    writeFileSync(join(folder, "a.yaml"), JSON.stringify({ ...head, spec: { domain: "alpha", descriptors } }));
    await start();
    const entries = [{ key: "user", value: "v59" }];
    const request = { fleet: "web", domain: "alpha", descriptors: [{ entries }] };
    const [explained] = (await createClient(ConsoleService, transport()).explainRequest(request)).descriptors;
    const candidates = explained!.levels[0]!.candidates.map(({ rule, verdict }) => `${rule} ${verdict}`);
    expect(candidates).toEqual([
      ...Array.from({ length: 39 }, (_, index) => `k${index} key-differs`),
      "user comes-later",
      ...Array.from({ length: 59 }, (_, index) => `user_v${index} value-differs`),
      "user_v59 exact",
    ]);
  });

  it.each([
    { descriptors: 16, entries: 32, text: undefined },
    { descriptors: 17, entries: 1, text: "descriptors has 17 items, at most 16 are allowed" },
    { descriptors: 2, entries: 33, text: "descriptors[0].entries has 33 items, at most 32 are allowed" },
  ])("explains $descriptors descriptors of $entries entries: $text", async ({ descriptors, entries, text }) => {
    await start();
    const each = { entries: Array.from({ length: entries }, () => ({ key: "user", value: "ada" })) };
    const request = { fleet: "web", domain: "alpha", descriptors: Array.from({ length: descriptors }, () => each) };
    const answer = createClient(ConsoleService, transport()).explainRequest(request);
    if (text === undefined) expect((await answer).descriptors).toHaveLength(descriptors);
    else
      await expect(answer).rejects.toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: `Cannot explain the request: ${text}`,
      });
  });

  it("is not on the HTTP port", async () => {
    await start();
    const path = "/weir.console.v1.ConsoleService/WatchCounts";
    const url = `http://127.0.0.1:${controlPlane.http.address()?.port}${path}`;
    expect((await fetch(url, { method: "POST" })).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST" })).status).not.toBe(404);
  });
});

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** The last ten minutes of a pod, in which it has made so many decisions a minute ago. */
function past(decisions: number) {
  const startSeconds = BigInt(Math.floor(nowSeconds() / 10) * 10 - 60);
  const counts = { decisions: [decisions] };
  return { startSeconds, stepSeconds: 10, steps: 7, totals: counts, rules: [{ rule: USER, hits: [decisions] }] };
}

/** The last second of a pod. */
function second({ hits, overLimit }: { readonly hits: number; readonly overLimit: number }) {
  const totals = { decisions: [hits], rejections: [overLimit] };
  const startSeconds = BigInt(nowSeconds() - 1);
  return {
    startSeconds,
    stepSeconds: 1,
    steps: 1,
    totals,
    rules: [{ rule: USER, hits: [hits], overLimit: [overLimit] }],
  };
}

function keyOf(user: string, count: bigint) {
  return { values: [{ key: "user", shown: { case: "text" as const, value: user } }], count };
}
