// Tests of the control plane with pods of both variants: as envoyproxy/ratelimit, and incremental ones. They connect,
// answer, come back and NACK. Case numbers are those of docs/discovery.md.
import { mkdtempSync, realpathSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { silentLog } from "@weir/common/log/log";
import { IncrementalPod } from "@weir/harness/ads/incremental-pod";
import { ACK, type Answer, cannotLoad, ScriptedPod, type ScriptedPodOptions } from "@weir/harness/ads/scripted-pod";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { until } from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";

/** The pause before it connects again, in milliseconds: ten seconds with envoyproxy/ratelimit, short so that tests end. */
const RECONNECT_MS = 50;

/** A part of the answer of the rollout API. */
interface Rollout {
  readonly fleets?: readonly Readonly<Record<string, unknown>>[];
  readonly resources?: readonly Readonly<Record<string, unknown>>[];
  readonly pods?: readonly Readonly<Record<string, unknown>>[];
}

/** Cannot load rules above this many requests per unit. */
function upTo(max: number): Answer {
  return cannotLoad(
    ({ descriptors }) => (descriptors[0]?.rateLimit?.requestsPerUnit ?? 0) > max,
    `more than ${max} requests per unit`,
  );
}

type Client = ScriptedPod | IncrementalPod;

/** Active domains, with the requests per unit of their first rule. */
function rulesOf({ configs }: Client): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    configs.map(({ domain, descriptors }) => [domain, descriptors[0]?.rateLimit?.requestsPerUnit]),
  );
}

describe.each([
  { pod: "envoyproxy/ratelimit", isIncremental: false },
  { pod: "an incremental pod", isIncremental: true },
])("ControlPlane and $pod", ({ isIncremental }) => {
  let folder: string;
  const planes: ControlPlane[] = [];
  const clients: Client[] = [];

  function save(name: string, text: string): void {
    writeFileSync(join(folder, `.${name}.tmp`), text);
    renameSync(join(folder, `.${name}.tmp`), join(folder, name));
  }

  function saveLimit(name: string, requestsPerUnit: number): void {
    save(`${name}.yaml`, manifest({ name, domain: `domain-${name}`, requestsPerUnit }));
  }

  async function start(env: Readonly<Record<string, string>> = {}): Promise<ControlPlane> {
    const listeners = {
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      ADS_PLAINTEXT: "true",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
    };
    const settings = parseSettings({ SOURCE_DIRECTORY: folder, ...listeners, ...env });
    const plane = new ControlPlane({ log: silentLog(), clock: Date.now, tracer: undefined }, settings);
    planes.push(plane);
    await plane.lifecycle.start();
    return plane;
  }

  function portOf(plane: ControlPlane): number {
    return plane.ads.address()?.port ?? 0;
  }

  function connect(plane: ControlPlane, options: ScriptedPodOptions = {}): Client {
    const backoffMs = [RECONNECT_MS, RECONNECT_MS] as const;
    const all = { nodeId: "default", answer: ACK, backoffMs, isReference: true, ...options };
    const client = isIncremental ? new IncrementalPod(portOf(plane), all) : new ScriptedPod(portOf(plane), all);
    clients.push(client);
    return client;
  }

  async function rollout(plane: ControlPlane): Promise<Rollout> {
    const url = `http://127.0.0.1:${plane.http.address()?.port ?? 0}/weir.rollout.v1.RolloutService/GetRollout`;
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    return ((await answer.json()) as { readonly rollout: Rollout }).rollout;
  }

  async function metrics(plane: ControlPlane): Promise<string> {
    return (await fetch(`http://127.0.0.1:${plane.http.address()?.port ?? 0}/metrics`)).text();
  }

  async function resource(plane: ControlPlane, name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    return (await rollout(plane)).resources?.find((candidate) => candidate["name"] === name);
  }

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-reference-client-")));
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const plane of planes.splice(0)) await plane.lifecycle.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("configures it, brings each change and removal, and knows it by its node", async () => {
    saveLimit("a", 1);
    saveLimit("b", 2);
    const plane = await start();
    const client = connect(plane, {
      nodeId: "default",
      metadata: { fleet: "edge", pod: "rls-0", namespace: "limits" },
    });
    await until("the first rules", () => rulesOf(client)["domain-b"] === 2);
    unlinkSync(join(folder, "b.yaml"));
    saveLimit("a", 3);
    await until("the rules after the change", () => JSON.stringify(rulesOf(client)) === '{"domain-a":3}');
    await until("acceptance", async () => (await rollout(plane)).pods?.[0]?.["state"] === "POD_STATE_ACCEPTED");
    expect((await rollout(plane)).pods).toMatchObject([
      { nodeId: "default", pod: "rls-0", namespace: "limits", fleet: "edge" },
    ]);
  });

  it("answers a stream that comes back once, whatever nonce and version it brings, and counts only its ACK", async () => {
    saveLimit("a", 1);
    const plane = await start();
    const client = connect(plane);
    await until("the first rules", () => rulesOf(client)["domain-a"] === 1);
    const received = client.responses.length;
    client.cut();
    await until("the second stream", () => client.responses.length === received + 1);
    if (client instanceof ScriptedPod) {
      const first = client.requests.findLast(({ responseNonce }, index) => index > 0 && responseNonce === "1");
      expect([first?.versionInfo, client.losses + 1]).toEqual([client.ackedVersion, 2]);
    }
    // One for each stream; the first request of the second one is none.
    await until("acceptance", async () => /^weir_ads_acks_total(\{[^}]*\})? 2$/m.test(await metrics(plane)));
    expect((await rollout(plane)).pods).toMatchObject([{ state: "POD_STATE_ACCEPTED" }]);
    expect(client.responses.length).toBe(received + 1);
    expect(client.responses.at(-1)?.resources).toHaveLength(isIncremental ? 0 : 1);
  });

  it("serves it again when the replica was away, and from another replica under the same version", async () => {
    saveLimit("a", 1);
    const [first, second] = [await start(), await start()];
    const client = connect(first);
    await until("the first rules", () => rulesOf(client)["domain-a"] === 1);
    const version = client.ackedVersion;
    client.ports = [portOf(second)];
    await first.lifecycle.stop();
    await until("the other replica", async () => (await rollout(second)).pods?.[0]?.["state"] === "POD_STATE_ACCEPTED");
    expect([client.ackedVersion, client.responses.length]).toEqual([version, 2]);
    saveLimit("a", 2);
    await until("the change", () => rulesOf(client)["domain-a"] === 2);
  });

  it("case A9: keeps what it rejects by name with code 0 at the revision that it has, serves the rest under a new version and tells why, until the edit", async () => {
    saveLimit("a", 1);
    saveLimit("b", 1);
    const plane = await start();
    const client = connect(plane, { answer: upTo(100) });
    await until("the first rules", () => rulesOf(client)["domain-a"] === 1);
    const before = client.ackedVersion;
    saveLimit("b", 500);
    saveLimit("c", 1);
    await until("everything else", () => rulesOf(client)["domain-c"] === 1);
    expect(rulesOf(client)).toEqual({ "domain-a": 1, "domain-b": 1, "domain-c": 1 });
    expect(client.ackedVersion).not.toBe(before);
    await until("the report", async () => (await resource(plane, "b"))?.["state"] === "RESOURCE_STATE_QUARANTINED");
    expect(await resource(plane, "b")).toMatchObject({ reason: "RejectedByDataPlane", servesLastGood: true });
    expect(JSON.stringify(await resource(plane, "b"))).toContain("default/b: more than 100 requests per unit");
    if (client instanceof ScriptedPod) {
      const rejection = client.requests.find(({ errorDetail }) => errorDetail !== undefined);
      expect([rejection?.errorDetail?.code, rejection?.versionInfo]).toEqual([0, before]);
    }
    // An edit that it cannot load either reaches it, as every edit does, and changes nothing of the rest.
    const received = client.responses.length;
    saveLimit("b", 501);
    await until("the second rejection", () => client.responses.length > received);
    saveLimit("a", 2);
    await until("the edit of another one", () => rulesOf(client)["domain-a"] === 2);
    expect(rulesOf(client)).toEqual({ "domain-a": 2, "domain-b": 1, "domain-c": 1 });
    saveLimit("b", 50);
    await until("the repair", () => rulesOf(client)["domain-b"] === 50);
    await until(
      "the end of the quarantine",
      async () => (await resource(plane, "b"))?.["state"] === "RESOURCE_STATE_SERVED",
    );
    await until("the pod", async () => (await rollout(plane)).pods?.[0]?.["state"] === "POD_STATE_ACCEPTED");
  });

  it("gives a client that is new the revision of before the edit that it cannot load, and a sound one the edit", async () => {
    saveLimit("a", 1);
    const plane = await start();
    const sound = connect(plane, { nodeId: "sound" });
    await until("the first rules", () => rulesOf(sound)["domain-a"] === 1);
    saveLimit("a", 500);
    await until("the edit", () => rulesOf(sound)["domain-a"] === 500);
    const old = connect(plane, { nodeId: "old", answer: upTo(100) });
    await until("the revision of before", () => rulesOf(old)["domain-a"] === 1);
    expect([rulesOf(sound), sound.responses.length, old.responses.length]).toEqual([{ "domain-a": 500 }, 2, 2]);
    const podsOf = async (): Promise<unknown> => JSON.stringify((await resource(plane, "a"))?.["pods"]);
    await until("both answers", async () => (await podsOf()) === '{"total":2,"accepted":1,"rejected":1}');
    expect(await resource(plane, "a")).toMatchObject({ state: "RESOURCE_STATE_QUARANTINED", servesLastGood: true });
    old.close();
    await until("its end", async () => (await resource(plane, "a"))?.["state"] === "RESOURCE_STATE_SERVED");
  });

  it("does not take the version of a first request for an acceptance when that version was rejected", async () => {
    saveLimit("a", 1);
    saveLimit("b", 500);
    const plane = await start();
    const client = connect(plane, { answer: upTo(100) });
    await until("the rest", () => rulesOf(client)["domain-a"] === 1);
    const quarantined = client.ackedVersion;
    for (let count = 0; count < 3; count += 1) {
      const { losses } = client;
      const received = client.responses.length;
      client.cut();
      await until("the next stream", () => client.losses > losses && client.responses.length > received);
    }
    await until("the report", async () => (await resource(plane, "b"))?.["state"] === "RESOURCE_STATE_QUARANTINED");
    await until("its answer", async () => (await rollout(plane)).pods?.[0]?.["accepted"] !== undefined);
    expect([client.ackedVersion, rulesOf(client)]).toEqual([quarantined, { "domain-a": 1 }]);
    expect((await rollout(plane)).pods).toMatchObject([{ state: "POD_STATE_REJECTED" }]);
    expect(await resource(plane, "b")).toMatchObject({
      state: "RESOURCE_STATE_QUARANTINED",
      reason: "RejectedByDataPlane",
    });
    expect((await resource(plane, "b"))?.["servesLastGood"]).toBeUndefined();
    expect(await resource(plane, "a")).toMatchObject({ state: "RESOURCE_STATE_SERVED" });
  });

  it("leaves out several bad resources immediately, though each rejection names only the first", async () => {
    const plane = await start();
    const client = connect(plane, { answer: upTo(100) });
    const startedMs = performance.now();
    save(
      "all.yaml",
      ["a", "b", "c", "d", "e", "f"]
        .map((name, index) => manifest({ name, domain: `domain-${name}`, requestsPerUnit: index % 2 === 0 ? 1 : 500 }))
        .join("---\n"),
    );
    // Without the first one that is named, and then without the next; or, without that, one by one.
    const responses = isIncremental ? 6 : 4;
    await until(
      "the good ones",
      () => Object.keys(rulesOf(client)).length === 3 && client.responses.length === responses,
    );
    // From the edit on, so with the time that changes are collected; without it there are four
    // sends.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(rulesOf(client)).toEqual({ "domain-a": 1, "domain-c": 1, "domain-e": 1 });
  });

  it("keeps sound clients whole when one of them rejects everything, also after they all come back", async () => {
    saveLimit("a", 1);
    saveLimit("b", 1);
    const plane = await start();
    const hostile = connect(plane, { nodeId: "hostile", answer: cannotLoad(() => true, "no") });
    await until("its rejections", () => hostile.nacks.length >= 2);
    const sound = Array.from({ length: 10 }, (_, index) => connect(plane, { nodeId: `sound-${index}` }));
    const isWhole = (client: Client): boolean =>
      rulesOf(client)["domain-a"] !== undefined && rulesOf(client)["domain-b"] !== undefined;
    await until("all rules", () => sound.every(isWhole));
    for (const client of [hostile, ...sound]) client.cut();
    saveLimit("a", 2);
    await until("the edit", () => sound.every((client) => rulesOf(client)["domain-a"] === 2 && isWhole(client)));
    for (const client of sound) expect(client.nacks).toEqual([]);
    expect(rulesOf(hostile)).toEqual({});
    const podsOf = async (): Promise<unknown> => JSON.stringify((await rollout(plane)).fleets?.[0]?.["pods"]);
    await until("all answers", async () => (await podsOf()) === '{"total":11,"accepted":10,"rejected":1}');
    hostile.close();
    const states = async (): Promise<unknown> => (await rollout(plane)).resources?.map(({ state }) => state).join();
    await until("all served", async () => (await states()) === "RESOURCE_STATE_SERVED,RESOURCE_STATE_SERVED");
  });

  it("case A10: keeps what it has when it rejects in words that name nothing, is sent nothing more, and continues at the next edit", async () => {
    saveLimit("a", 1);
    const plane = await start();
    const client = connect(plane);
    await until("the first rules", () => rulesOf(client)["domain-a"] === 1);
    const before = client.ackedVersion;
    client.answer = (response, sizeBytes) =>
      upTo(100)(response, sizeBytes) && "cannot load: more than 100 requests per unit";
    saveLimit("a", 500);
    await until("the report", async () => (await resource(plane, "a"))?.["state"] === "RESOURCE_STATE_QUARANTINED");
    expect([rulesOf(client), client.ackedVersion, client.responses.length]).toEqual([{ "domain-a": 1 }, before, 2]);
    expect((await rollout(plane)).pods).toMatchObject([
      { state: "POD_STATE_REJECTED", rejection: "cannot load: more than 100 requests per unit" },
    ]);
    expect(await metrics(plane)).toMatch(/^weir_quarantined_resources 1$/m);
    expect(await metrics(plane)).toMatch(/^weir_ads_nacks_total\{reason="other"\} 1$/m);
    saveLimit("a", 50);
    await until("the edit", () => rulesOf(client)["domain-a"] === 50);
    await until("the end", async () => (await resource(plane, "a"))?.["state"] === "RESOURCE_STATE_SERVED");
    expect([client.responses.length, client.losses + 1]).toEqual([3, 1]);
  });

  it("case A13: leaves out what does not fit into its 4 MiB, names it, serves everything else, and never sends it into an endless loop", async () => {
    saveLimit("small", 1);
    const plane = await start();
    const client = connect(plane);
    await until("the first rules", () => rulesOf(client)["domain-small"] === 1);
    for (const name of ["p", "q", "r"]) save(`${name}.yaml`, manifest({ name, domain: name, largeRules: 1000 }));
    await until("what a Go client receives", () => Object.keys(rulesOf(client)).length === 4);
    save("s.yaml", manifest({ name: "s", domain: "s", largeRules: 1000 }));
    save("t.yaml", manifest({ name: "t", domain: "t", largeRules: 1000 }));
    await until("the reason", async () => (await resource(plane, "t"))?.["reason"] === "TooLarge");
    expect((await rollout(plane)).fleets).toMatchObject([{ hold: "HOLD_TOO_LARGE" }]);
    saveLimit("small", 2);
    await until("an edit meanwhile", () => rulesOf(client)["domain-small"] === 2);
    expect(new Set(Object.keys(rulesOf(client)))).toEqual(new Set(["p", "q", "r", "s", "domain-small"]));
    expect(client.losses).toBe(0);
    expect(await resource(plane, "t")).toMatchObject({ state: "RESOURCE_STATE_REFUSED", reason: "TooLarge" });
    unlinkSync(join(folder, "p.yaml"));
    await until("room for it", () => rulesOf(client)["t"] !== undefined);
    await until("the end", async () => (await resource(plane, "t"))?.["state"] === "RESOURCE_STATE_SERVED");
    expect((await rollout(plane)).fleets?.[0]?.["hold"]).toBeUndefined();
  });
});
