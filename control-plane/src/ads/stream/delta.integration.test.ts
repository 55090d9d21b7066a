// Tests of the incremental variant over real connections.
import { silentLog } from "@weir/common/log/log";
import { DeltaPod, type DeltaPodOptions } from "@weir/harness/ads/delta-pod";
import { eventually } from "@weir/harness/processes/eventually";
import type { DeltaDiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { afterEach, describe, expect, it } from "vitest";

import { type PodState, PodRegistry } from "../../pods/pod-registry.ts";
import { syncStatusOf } from "../../pods/sync-status.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { largeSnapshot, snapshotOf } from "../../snapshot/snapshots-of.suite.ts";
import { AdsServer } from "../ads-server.ts";
import { FakePublisher } from "./fake-ads-stream.suite.ts";

const A = { name: "a", domain: "alpha" };
const B = { name: "b", domain: "beta" };

/** Manifests that differ in their rule only, so that there is something to edit. */
function edited<Text extends object>(manifest: Text, requestsPerUnit: number): Text {
  return { ...manifest, requestsPerUnit };
}

function namesOf({ resources }: DeltaDiscoveryResponse): readonly string[] {
  return resources.map(({ name }) => name);
}

describe("AdsServer in the incremental variant", () => {
  const running: { stop(): unknown }[] = [];

  afterEach(async () => {
    for (const each of running.splice(0).reverse()) await each.stop();
  });

  async function serve(...initial: readonly Snapshot[]) {
    const publisher = new FakePublisher(...initial);
    const pods = new PodRegistry({ clock: Date.now });
    const server = new AdsServer(
      { log: silentLog(), security: { kind: "plaintext" }, publisher, pods, clock: Date.now },
      {
        host: "127.0.0.1",
        port: 0,
        identifier: "replica-1",
        connectionAgeMaxMs: 3_600_000,
        streamsPerIdentityMax: 100,
        snapshotMaxBytes: 4_000_000,
      },
    );
    await server.start();
    running.push(server);
    const connect = (options: DeltaPodOptions = {}): DeltaPod => {
      const pod = new DeltaPod(server.address()?.port ?? 0, options);
      running.push({ stop: () => pod.close() });
      return pod;
    };
    return { publish: (snapshot: Snapshot) => publisher.publish(snapshot), pods, connect };
  }

  /** Resolves with the state of the only pod when it has this status for a snapshot. */
  function reported(pods: PodRegistry, snapshot: Snapshot, status: string): Promise<PodState> {
    return eventually(`the pod to be ${status}`, () => {
      const [state] = pods.list();
      const now = state && syncStatusOf(state, snapshot.version);
      if (state === undefined || now !== status) throw new Error(`it is ${now}`);
      return state;
    });
  }

  it("case 42: sends all, then what changes and what is removed, and reports each ACK", async () => {
    const first = snapshotOf(A, B);
    const { publish, pods, connect } = await serve(first);
    const pod = connect();
    const response = await pod.response(1);
    expect(namesOf(response)).toEqual(["default/a", "default/b"]);
    expect(response).toMatchObject({ systemVersionInfo: first.version, controlPlane: { identifier: "replica-1" } });
    await reported(pods, first, "current");
    const second = snapshotOf(edited(A, 7), B);
    publish(second);
    expect(namesOf(await pod.response(2))).toEqual(["default/a"]);
    await reported(pods, second, "current");
    const third = snapshotOf(edited(A, 7));
    publish(third);
    expect(await pod.response(3)).toMatchObject({ resources: [], removedResources: ["default/b"] });
    expect((await reported(pods, third, "current")).accepted?.version).toBe(pod.version);
  });

  it("case A17: answers a pod that comes back with what it holds by what differs", async () => {
    const first = snapshotOf(A, B);
    const { connect, pods } = await serve(first);
    const pod = connect();
    await pod.response(1);
    await reported(pods, first, "current");
    pod.close();
    const again = connect({ held: pod.held });
    const response = await again.response(1);
    expect(response).toMatchObject({ resources: [], removedResources: [], systemVersionInfo: first.version });
    const held = new Map([["default/a", "unknown"], ["default/c", "gone"], ...[...pod.held].slice(1)]);
    const other = connect({ held });
    expect(await other.response(1)).toMatchObject({
      resources: [{ name: "default/a" }],
      removedResources: ["default/c"],
    });
    expect(other.held).toEqual(pod.held);
  });

  it("case A18: sends removals and what takes over their domains in one response, at the start, too", async () => {
    const rest = Array.from({ length: 9 }, (_, index) => ({ name: `n${index}`, domain: `n${index}`, largeRules: 90 }));
    const before = snapshotOf({ name: "a", domain: "one" }, ...rest);
    const after = snapshotOf(...rest, { name: "z", domain: "one", largeRules: 180 });
    const { publish, connect } = await serve(before);
    const held = new Map(before.revisions.map(({ name, digest }) => [name, digest]));
    const parts = (pod: DeltaPod) =>
      pod.arrivals.map(({ response, sizeBytes }) => ({
        names: namesOf(response).map((name) => name.slice("default/".length)),
        removed: response.removedResources,
        isSmall: sizeBytes <= 256 * 1024,
      }));
    const pod = connect({ answer: () => undefined });
    await pod.response(1);
    expect(parts(pod)).toEqual([{ names: ["a", "n0", "n1"], removed: [], isSmall: true }]);
    // Held completely, it is sent in one response what follows; a pod that comes back, too, whatever the size.
    const current = connect({ held });
    await current.response(1);
    publish(after);
    await current.response(2);
    expect(parts(current).slice(1)).toEqual([{ names: ["z"], removed: ["default/a"], isSmall: true }]);
    const away = connect({ held: new Map([["default/a", held.get("default/a")!]]), answer: () => undefined });
    await away.response(1);
    expect(parts(away)).toMatchObject([{ names: expect.arrayContaining(["z"]), removed: ["default/a"] }]);
  });

  it("cases A10 and A19: repeats a NACKed response one resource at a time, and keeps what the pod has of the one it NACKs", async () => {
    const first = snapshotOf(A, B);
    const { publish, pods, connect } = await serve(first);
    const isBad = ({ resources }: DeltaDiscoveryResponse): boolean =>
      resources.some(({ name, version }) => name === "default/b" && version !== first.get("default/b")?.digest);
    const pod = connect({ answer: (response) => (isBad(response) ? "cannot load this" : "") });
    await pod.response(1);
    const second = snapshotOf(edited(A, 7), edited(B, 7), { name: "c", domain: "gamma" });
    publish(second);
    await pod.response(5);
    expect(pod.arrivals.slice(1).map(({ response }) => namesOf(response))).toEqual([
      ["default/a", "default/b", "default/c"],
      ["default/a"],
      ["default/b"],
      ["default/c"],
    ]);
    const state = await eventually("the last ACK", () => {
      const [report] = pods.list();
      if (report?.accepted?.version !== pod.version) throw new Error("it has not come");
      return report;
    });
    expect(syncStatusOf(state, second.version)).toBe("rejected");
    expect(state.nacks.get("default/b")?.message).toBe("cannot load this");
    expect(state.choice?.get("default/b")).toBe(first.get("default/b"));
    publish(snapshotOf(edited(A, 7), B, { name: "c", domain: "gamma" }));
    await reported(pods, snapshotOf(edited(A, 7), B, { name: "c", domain: "gamma" }), "current");
    expect(pod.arrivals).toHaveLength(5); // It holds that already.
  });

  it("case A9: offers an earlier revision of a NACKed resource only to a pod that has none", async () => {
    const [first, second, third] = [snapshotOf(A), snapshotOf(edited(A, 7)), snapshotOf(edited(A, 8))];
    const { publish, connect } = await serve(first);
    const last = third.get("default/a")!.digest;
    const answer = ({ resources }: DeltaDiscoveryResponse): string =>
      resources.some(({ version }) => version === last) ? "default/a: no" : "";
    const older = connect({ answer });
    await older.response(1);
    publish(second);
    await older.response(2);
    publish(third);
    await older.response(3);
    const younger = connect({ answer });
    await younger.response(2);
    await eventually("the earlier revision", () => expect(younger.held).toEqual(older.held));
    expect(younger.held.get("default/a")).toBe(second.get("default/a")?.digest);
    publish(snapshotOf(edited(A, 8), B));
    await older.response(4);
    expect(older.arrivals.map(({ response }) => namesOf(response)).slice(3)).toEqual([["default/b"]]);
  });

  it("case 41: sends names that a client adds, also again, and says which do not exist", async () => {
    const { publish, connect } = await serve(snapshotOf(A, B));
    const client = connect({ names: ["default/a", "default/c"] });
    expect(await client.response(1)).toMatchObject({
      resources: [{ name: "default/a" }],
      removedResources: ["default/c"],
    });
    client.request({ resourceNamesSubscribe: ["default/a"] });
    expect(namesOf(await client.response(2))).toEqual(["default/a"]);
    client.request({ resourceNamesSubscribe: ["default/b"], resourceNamesUnsubscribe: ["default/a", "default/d"] });
    expect(namesOf(await client.response(3))).toEqual(["default/b"]);
    publish(snapshotOf(edited(A, 7), edited(B, 7)));
    expect(namesOf(await client.response(4))).toEqual(["default/b"]);
  });

  it("case 15: a client of all that names some, and no longer, is sent those again or their removal", async () => {
    const { connect } = await serve(snapshotOf(A, B));
    const client = connect();
    await client.response(1);
    client.request({ resourceNamesSubscribe: ["default/b", "default/c"] });
    expect(await client.response(2)).toMatchObject({
      resources: [{ name: "default/b" }],
      removedResources: ["default/c"],
    });
    client.request({ resourceNamesUnsubscribe: ["default/b", "default/c", "default/d"] });
    expect(await client.response(3)).toMatchObject({
      resources: [{ name: "default/b" }],
      removedResources: ["default/c"],
    });
  });

  it("case 16: a client that no longer wants all keeps what it names, and is not sent all again", async () => {
    const { publish, connect } = await serve(snapshotOf(A, B));
    const client = connect({ names: ["*", "default/a"] });
    expect(namesOf(await client.response(1))).toEqual(["default/a", "default/b"]);
    client.request({ resourceNamesUnsubscribe: ["*"], resourceNamesSubscribe: ["default/a"] });
    expect(namesOf(await client.response(2))).toEqual(["default/a"]);
    publish(snapshotOf(edited(A, 7), edited(B, 7)));
    expect(namesOf(await client.response(3))).toEqual(["default/a"]);
    client.request({ resourceNamesUnsubscribe: ["*", "default/a"], resourceNamesSubscribe: ["default/b"] });
    expect(namesOf(await client.response(4))).toEqual(["default/b"]);
    publish(snapshotOf(edited(A, 8), edited(B, 8)));
    expect(namesOf(await client.response(5))).toEqual(["default/b"]);
    client.request({ resourceNamesSubscribe: ["*"] });
    expect(namesOf(await client.response(6))).toEqual(["default/a"]);
  });

  it("case 41: answers names that come with a NACK, and sends again what it was to send with it", async () => {
    const { connect } = await serve(snapshotOf(A, B, { name: "c", domain: "gamma" }));
    const client = connect({ names: ["default/a", "default/b"], answer: () => undefined });
    const nack = async (number: number, message: string, names: { add?: string[]; drop?: string[] } = {}) => {
      const { nonce } = await client.response(number);
      client.request({
        responseNonce: nonce,
        errorDetail: { message },
        resourceNamesSubscribe: names.add ?? [],
        resourceNamesUnsubscribe: names.drop ?? [],
      });
      return namesOf(await client.response(number + 1));
    };
    expect(await nack(1, "no", { drop: ["default/a"] })).toEqual(["default/b"]);
    expect(await nack(2, "no", { drop: ["default/b"], add: ["default/c"] })).toEqual(["default/c"]);
    client.request({ responseNonce: (await client.response(3)).nonce });
    client.request({ resourceNamesSubscribe: ["default/a", "default/c"] });
    expect(namesOf(await client.response(4))).toEqual(["default/a", "default/c"]);
    expect(await nack(4, "default/a: no")).toEqual(["default/c"]);
  });

  it("sends no resource without content: a client that asks again for one that no replica keeps is sent nothing of it", async () => {
    const { connect } = await serve(snapshotOf(A, B));
    const held = new Map([["default/a", "unknown"]]);
    const answer = ({ resources }: DeltaDiscoveryResponse): string =>
      resources.some(({ name }) => name === "default/a") ? "default/a: no" : "";
    const client = connect({ held, answer });
    await client.response(2);
    client.request({ resourceNamesSubscribe: ["default/a", "default/b"] });
    await client.response(3);
    expect(client.arrivals.slice(1).map(({ response }) => namesOf(response))).toEqual([["default/b"], ["default/b"]]);
  });

  it.each([
    [
      "subscribes to more names than are allowed, over many requests",
      (client: DeltaPod, names: string[]) => {
        for (let count = 0; count < 2; count += 1)
          client.request({ resourceNamesSubscribe: names.map((name) => `${name}-${count}`) });
      },
    ],
    [
      "drops more names than are allowed that it may have",
      (client: DeltaPod, names: string[]) => {
        for (let count = 0; count < 3; count += 1) {
          const some = names.slice(0, 4000).map((name) => `${name}-${count}`);
          client.request({ resourceNamesSubscribe: some });
          client.request({ resourceNamesUnsubscribe: some });
        }
      },
    ],
  ])("ends the stream of a client that %s", async (_what, act) => {
    const { connect } = await serve(snapshotOf(A));
    const client = connect({ names: ["*"], answer: () => undefined });
    act(
      client,
      Array.from({ length: 6000 }, (_, index) => index.toString(36)),
    );
    await eventually("the end of the stream", () => expect(client.status).toBe(3));
  });

  it("ends the stream of a client that holds more than fits into any snapshot", async () => {
    const { connect } = await serve(snapshotOf(A));
    const client = connect({ held: new Map(Array.from({ length: 100_001 }, (_, index) => [index.toString(36), ""])) });
    await eventually("the end of the stream", () => expect(client.status).toBe(3));
  });

  it("tries the revisions of a namespace one by one after 8 NACKs in it, and sends the rest meanwhile", async () => {
    const texts = Array.from({ length: 9 }, (_, index) => ({ name: `n${index}`, domain: `n${index}` }));
    const { publish, connect } = await serve(snapshotOf(...texts));
    const pod = connect({
      answer: ({ resources: [first] }) =>
        pod.held.size === 9 && first?.name !== "other/a" ? `${first?.name}: no` : "",
    });
    await pod.response(1);
    publish(snapshotOf(...texts.map((text) => edited(text, 7)), { ...A, namespace: "other" }));
    await eventually("the resource of the other namespace", () => expect(pod.held.has("other/a")).toBe(true));
    const nacked = pod.arrivals.slice(1).filter(({ response }) => !namesOf(response).includes("other/a"));
    expect(nacked.length).toBeLessThanOrEqual(9);
    expect(pod.held.size).toBe(10);
  });

  it("keeps a pod that is sent nothing yet waiting, and takes a first request of 4 MiB", async () => {
    const { publish, connect } = await serve();
    const held = new Map(Array.from({ length: 40_000 }, (_, index) => [`default/limits-${index}`, "v".repeat(70)]));
    const pod = connect({ held });
    expect(pod.sentBytes).toBeGreaterThan(3.5 * 1024 * 1024);
    publish(largeSnapshot(1));
    const response = await pod.response(1);
    expect(response.removedResources).toHaveLength(40_000);
    expect(namesOf(response)).toEqual(["default/large"]);
    pod.request({ resourceNamesSubscribe: ["x".repeat(1024 * 1024)] });
    await eventually("the end of the stream", () => expect(pod.status).toBe(8));
  });
});
