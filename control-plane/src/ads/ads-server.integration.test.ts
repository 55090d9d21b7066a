// Tests of ads-server.ts with real clients over mutual TLS. Case numbers are those of the
// protocol's test list.
import { connect, createServer, type Socket } from "node:net";

import { status } from "@grpc/grpc-js";
import { silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { namesOf, requestOf, type RequestText } from "@weir/harness/ads/pod-end";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import type { DiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigDiscoveryService } from "@weir/proto/generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ManifestText } from "../translate/manifests.suite.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { largeSnapshot, snapshotOf } from "../snapshot/snapshots-of.suite.ts";
import {
  createTestAuthority,
  createTestCertificates,
  tlsOf,
  callOnce,
  type TestCertificates,
  type TestIdentity,
  until,
} from "./ads-client.suite.ts";
import type { AdsSecurity } from "./ads-security.ts";
import { AdsServer, type AdsServerOptions } from "./ads-server.ts";
import { AnswerCounts, FakePublisher } from "./stream/fake-ads-stream.suite.ts";

const A: ManifestText = { name: "a", domain: "alpha" };
const B: ManifestText = { name: "b", domain: "beta" };

let certificates: TestCertificates;
let identity: TestIdentity;
let files: TlsFiles;
const pods = new PodRegistry({ clock: () => 0 });
const running: { stop(): void | Promise<void> }[] = [];

/** A started listener and its publisher. */
async function serve(
  initial: Snapshot | undefined,
  {
    allowedNames = [],
    security,
    ...options
  }: Partial<AdsServerOptions> & { allowedNames?: readonly string[]; security?: AdsSecurity } = {},
): Promise<{
  server: AdsServer;
  port: number;
  publisher: FakePublisher;
  publish: (snapshot: Snapshot) => void;
  counts: AnswerCounts;
}> {
  const publisher = initial === undefined ? new FakePublisher() : new FakePublisher(initial);
  const counts = new AnswerCounts(pods);
  const server = new AdsServer(
    {
      log: silentLog(),
      security: security ?? { kind: "mutual-tls", files, allowedNames },
      publisher,
      pods,
      clock: () => 0,
    },
    {
      host: "127.0.0.1",
      port: 0,
      identifier: "replica-1",
      connectionAgeMaxMs: 3_600_000,
      streamsPerIdentityMax: 10_000,
      snapshotMaxBytes: 4_000_000,
      ...options,
    },
  );
  await server.start();
  running.push(server);
  const publish = (snapshot: Snapshot): void => publisher.publish(snapshot);
  return { server, port: server.address()?.port ?? 0, publisher, publish, counts };
}

/** A pod that is closed after the test. */
function connectPod(port: number, as: TestIdentity | undefined = identity): ScriptedPod {
  return closedAfterTest(new ScriptedPod(port, { tls: tlsOf(as) }));
}

function connectInPlaintext(port: number, path?: string): ScriptedPod {
  return closedAfterTest(new ScriptedPod(port, path === undefined ? {} : { path }));
}

function closedAfterTest(pod: ScriptedPod): ScriptedPod {
  running.push({ stop: () => pod.close() });
  return pod;
}

beforeEach(async () => {
  certificates = await createTestCertificates();
  identity = await certificates.issueClient();
  files = new TlsFiles(certificates.server, { log: silentLog() });
  files.start();
});

afterEach(async () => {
  for (const part of running.splice(0).reverse()) await part.stop();
  files.stop();
  certificates.remove();
});

describe("AdsServer over mutual TLS", () => {
  it("cases 43 and 44: serves a pod, takes its acceptance, sends the next version, and takes its rejection", async () => {
    const { port, publish, counts } = await serve(snapshotOf(A));
    const pod = connectPod(port);
    pod.request({ node: { id: "gateway/pod-7", metadata: { namespace: "edge", pod: "pod-7" } } });
    expect(namesOf(await pod.response(1))).toEqual(["default/a"]);
    expect(pod.last.controlPlane?.identifier).toBe("replica-1");
    pod.accept();
    await until("acceptance", () => counts.acknowledgements === 1);
    publish(snapshotOf(A, B));
    expect(namesOf(await pod.response(2))).toEqual(["default/a", "default/b"]);
    pod.reject("default/b: no");
    await until("rejection", () => counts.rejections === 1);
    expect(pods.list()).toMatchObject([
      {
        nodeId: "gateway/pod-7",
        fleet: "gateway",
        namespace: "edge",
        pod: "pod-7",
        accepted: { version: snapshotOf(A).version },
        rejected: { version: snapshotOf(A, B).version, message: "default/b: no" },
      },
    ]);
    // No third response: it has all that is left.
    expect(pod.responses).toHaveLength(2);
  });

  it("refuses the handshake when the client certificate is from another authority", async () => {
    const { port, server } = await serve(snapshotOf(A));
    const pod = connectPod(port, await certificates.issueClient(["ratelimit"], await createTestAuthority()));
    pod.request();
    expect((await pod.ended()).code).toBe(status.UNAVAILABLE);
    expect([pod.responses.length, server.streams()]).toEqual([0, 0]);
  });

  it("refuses the connection when the client has no certificate or no TLS", async () => {
    const { port } = await serve(snapshotOf(A));
    const plain = connectInPlaintext(port);
    plain.request();
    expect((await plain.ended()).code).toBe(status.UNAVAILABLE);
  });

  it("case 11: refuses the stream with PERMISSION_DENIED when no name of the certificate is allowed", async () => {
    const { port } = await serve(snapshotOf(A), { allowedNames: ["ratelimit"] });
    const [allowed, other] = [connectPod(port), connectPod(port, await certificates.issueClient(["intruder"]))];
    for (const pod of [allowed, other]) pod.request();
    expect(namesOf(await allowed.response(1))).toEqual(["default/a"]);
    expect(await other.ended()).toEqual({
      code: status.PERMISSION_DENIED,
      details: "no name in the client certificate is allowed here, its names are: intruder",
    });
    expect(other.responses).toEqual([]);
  });

  it("keeps open streams and takes new ones when the server's certificate is renewed", async () => {
    const { port, publish } = await serve(snapshotOf(A));
    const before = connectPod(port);
    before.request();
    await before.response(1);
    const otherAuthority = await createTestAuthority();
    await certificates.renewServer(otherAuthority);
    files.reload();
    // A client that trusts only the new authority of the server gets in: so the new certificate is
    // in use.
    const after = connectPod(port, { ...identity, caPem: otherAuthority.certPem });
    after.request();
    await after.response(1);
    publish(snapshotOf(A, B));
    expect([namesOf(await before.response(2)), namesOf(await after.response(2))]).toEqual([
      ["default/a", "default/b"],
      ["default/a", "default/b"],
    ]);
  });

  it("case 7: ends the stream with INVALID_ARGUMENT when the type is missing", async () => {
    const { port } = await serve(snapshotOf(A));
    const pod = connectPod(port);
    pod.request({ type: "" });
    expect(await pod.ended()).toEqual({
      code: status.INVALID_ARGUMENT,
      details: "type_url is missing: it is required on an aggregated stream",
    });
    await until("no stream is left", () => pods.list().length === 0);
  });

  it("cases 1 and A14: ends streams with UNAVAILABLE when it stops", async () => {
    const { port, server } = await serve(snapshotOf(A));
    const pod = connectPod(port);
    pod.request();
    await pod.response(1);
    const startedMs = performance.now();
    await server.stop();
    // The default of SHUTDOWN_GRACE.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(await pod.ended()).toEqual({
      code: status.UNAVAILABLE,
      details: "the control plane is shutting down, connect again",
    });
    expect(pods.list()).toEqual([]);
  });

  it("cases 3 and A12: forgets the pod when it goes during a write", async () => {
    const { port, server } = await serve(largeSnapshot(1));
    const pod = connectPod(port);
    pod.request();
    await until("the stream", () => server.streams() === 1);
    pod.close();
    await until("no stream is left", () => server.streams() === 0 && pods.list().length === 0);
  });

  it("case A8: keeps one response for a pod that does not read, and the others are not delayed", async () => {
    const { port, publish, counts } = await serve(snapshotOf(A));
    const proxy = await startProxy(port);
    const [slow, fast] = [connectPod(proxy.port), connectPod(port)];
    for (const pod of [slow, fast]) {
      pod.request();
      await pod.response(1);
    }
    proxy.freeze();
    for (let round = 2; round <= 20; round += 1) {
      publish(largeSnapshot(round));
      await fast.response(round);
    }
    // The first large response fills the window of the slow pod; the other eighteen were never
    // begun.
    expect(counts.pushes).toBe(20 + 2);
    proxy.thaw();
    expect((await slow.response(3)).versionInfo).toBe(fast.last.versionInfo);
    expect(slow.responses).toHaveLength(3);
  });

  it("case 25: brings fifty pods to the last of fifty versions", async () => {
    const { port, publish, server } = await serve(snapshotOf(A));
    const fleet = Array.from({ length: 50 }, () => connectPod(port));
    for (const pod of fleet) pod.request();
    for (let limit = 1; limit <= 50; limit += 1) {
      publish(snapshotOf({ ...A, requestsPerUnit: limit }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { version } = snapshotOf({ ...A, requestsPerUnit: 50 });
    await until("the last version everywhere", () =>
      fleet.every((pod) => pod.responses.at(-1)?.versionInfo === version),
    );
    for (const pod of fleet) pod.accept();
    await until(
      "acceptance everywhere",
      () => pods.list().filter(({ accepted }) => accepted?.version === version).length === 50,
    );
    for (const pod of fleet) pod.close();
    await until("no stream is left", () => server.streams() === 0 && pods.list().length === 0);
  });

  it("case A15: ends a stream when the connection dies without a word", async () => {
    const { port, server } = await serve(snapshotOf(A), { keepaliveIntervalMs: 500, keepaliveTimeoutMs: 2000 });
    const proxy = await startProxy(port);
    const pod = connectPod(proxy.port);
    pod.request();
    await pod.response(1);
    proxy.freeze();
    await until("the stream is gone", () => server.streams() === 0 && pods.list().length === 0);
    pod.close();
  });
});

describe("AdsServer in plaintext", () => {
  it("serves a pod without TLS when that was asked for by name", async () => {
    const { port } = await serve(snapshotOf(A), { security: { kind: "plaintext" } });
    const pod = connectInPlaintext(port);
    pod.request();
    expect(namesOf(await pod.response(1))).toEqual(["default/a"]);
  });
});

describe("AdsServer and a pod that has nothing more to say", () => {
  it("ends the stream with OK and forgets the pod", async () => {
    const { port, server } = await serve(snapshotOf(A), { security: { kind: "plaintext" } });
    const pod = connectInPlaintext(port);
    pod.request();
    await pod.response(1);
    pod.accept();
    pod.finish();
    expect((await pod.ended()).code).toBe(status.OK);
    await until("no stream is left", () => server.streams() === 0 && pods.list().length === 0);
  });
});

describe("AdsServer and a client that asks once", () => {
  it("sends all of the active snapshot, and then OK, to a client that has ended its side already", async () => {
    const { port } = await serve(largeSnapshot(1), { security: { kind: "plaintext" } });
    const pod = connectInPlaintext(port);
    pod.request();
    pod.finish();
    expect((await pod.ended()).code).toBe(status.OK);
    expect(pod.responses.map(namesOf)).toEqual([["default/large"]]);
  });

  it("sends the whole of what is under way before it says that it shuts down", async () => {
    const { port, server, publish } = await serve(undefined, { security: { kind: "plaintext" } });
    const pod = connectInPlaintext(port);
    pod.request();
    await until("the stream is open", () => server.streams() === 1 && pods.list().length === 1);
    publish(largeSnapshot(1));
    server.drain(0);
    expect((await pod.ended()).code).toBe(status.UNAVAILABLE);
    expect(pod.responses.map(namesOf)).toEqual([["default/large"]]);
  });
});

describe("AdsServer and clients that send no request", () => {
  it("ends their streams with DEADLINE_EXCEEDED, so that pods get their places, and keeps those of pods", async () => {
    const options = { streamsMax: 3, firstRequestMaxMs: 1000, security: { kind: "plaintext" } as const };
    const { port, server, publish } = await serve(snapshotOf(A), options);
    const pod = connectInPlaintext(port);
    pod.request();
    await pod.response(1);
    pod.accept();
    for (const client of [connectInPlaintext(port), connectInPlaintext(port)])
      expect(await client.ended()).toEqual({
        code: status.DEADLINE_EXCEEDED,
        details: "no request came within 1000 ms",
      });
    const late = connectInPlaintext(port);
    late.request();
    await late.response(1);
    publish(snapshotOf(A, B));
    await pod.response(2);
    expect(server.streams()).toBe(2);
  });
});

describe("AdsServer as the single-type service of the data plane", () => {
  const PLAINTEXT: AdsSecurity = { kind: "plaintext" };
  const { streamRlsConfigs, fetchRlsConfigs } = serviceDefinition(RateLimitConfigDiscoveryService);
  const fetchOnce = (port: number, text: RequestText): Promise<DiscoveryResponse> =>
    callOnce(port, fetchRlsConfigs, requestOf(text));

  it("serves a stream on which no request names the type, and takes its answers", async () => {
    const { port, publish, counts } = await serve(snapshotOf(A), { security: PLAINTEXT });
    const pod = connectInPlaintext(port, streamRlsConfigs.path);
    pod.request({ type: "", node: { id: "gateway/pod-7" } });
    expect(namesOf(await pod.response(1))).toEqual(["default/a"]);
    pod.request({ type: "", version: pod.last.versionInfo, nonce: pod.last.nonce });
    await until("acceptance", () => counts.acknowledgements === 1);
    publish(snapshotOf(A, B));
    expect(namesOf(await pod.response(2))).toEqual(["default/a", "default/b"]);
    expect(pods.list().map(({ fleet }) => fleet)).toEqual(["gateway"]);
  });

  it("ends a stream that asks for another type with INVALID_ARGUMENT", async () => {
    const { port } = await serve(snapshotOf(A), { security: PLAINTEXT });
    const pod = connectInPlaintext(port, streamRlsConfigs.path);
    pod.request({ type: "type.googleapis.com/envoy.config.cluster.v3.Cluster" });
    expect(await pod.ended()).toEqual({
      code: status.INVALID_ARGUMENT,
      details:
        "type_url must be type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig or missing on this stream",
    });
  });

  it("answers a single request with the active snapshot, and UNAVAILABLE without one", async () => {
    const { port, server } = await serve(snapshotOf(A, B), { security: PLAINTEXT });
    const answer = await fetchOnce(port, { type: "" });
    expect([answer.versionInfo, namesOf(answer)]).toEqual([snapshotOf(A, B).version, ["default/a", "default/b"]]);
    await expect(fetchOnce(port, { type: "type.googleapis.com/other" })).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
    expect(server.streams()).toBe(0);
    const { port: empty } = await serve(undefined, { security: PLAINTEXT });
    await expect(fetchOnce(empty, {})).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: "no configuration is active yet, ask again",
    });
  });
});

describe("AdsServer and the age of connections", () => {
  it("ends a connection that has reached its greatest age, and serves the pod when it comes back", async () => {
    const options = { connectionAgeMaxMs: 3000, connectionAgeGraceMs: 500, security: { kind: "plaintext" } as const };
    const { port, server } = await serve(snapshotOf(A), options);
    const pod = connectInPlaintext(port);
    pod.request();
    await pod.response(1);
    await pod.ended();
    await until("no stream is left", () => server.streams() === 0 && pods.list().length === 0);
    const again = connectInPlaintext(port);
    again.request({ version: pod.last.versionInfo, nonce: pod.last.nonce });
    expect(namesOf(await again.response(1))).toEqual(["default/a"]);
  });
});

describe("AdsServer and a pod that NACKs an edit by name", () => {
  it("keeps it at the revision that it has, serves others the edit, and brings it the next one", async () => {
    const { port, publish, publisher, server } = await serve(snapshotOf(A, B), { security: { kind: "plaintext" } });
    const [picky, sound] = [connectInPlaintext(port), connectInPlaintext(port)];
    for (const pod of [picky, sound]) {
      pod.request();
      await pod.response(1);
      pod.accept();
    }
    const [before, edit] = [picky.last, snapshotOf({ ...A, requestsPerUnit: 6 }, { ...B, requestsPerUnit: 6 })];
    publish(edit);
    for (const pod of [picky, sound]) await pod.response(2);
    picky.reject("default/a: no");
    sound.accept();
    const kept = await picky.response(3);
    expect(kept.resources).toEqual([before.resources[0], sound.last.resources[1]]);
    picky.accept();
    publish(snapshotOf({ ...A, requestsPerUnit: 7 }, { ...B, requestsPerUnit: 6 }));
    expect((await picky.response(4)).versionInfo).toBe((await sound.response(3)).versionInfo);
    expect([picky.responses.length, sound.responses.length]).toEqual([4, 3]);
    await server.stop();
    expect(publisher.listeners).toBe(0);
  });
});

describe("AdsServer.drain()", () => {
  it("ends the streams one after the other with UNAVAILABLE, and continues to serve those that come", async () => {
    const { port, server } = await serve(snapshotOf(A), { security: { kind: "plaintext" } });
    const leaving = Array.from({ length: 4 }, () => connectInPlaintext(port));
    for (const pod of leaving) pod.request();
    for (const pod of leaving) await pod.response(1);
    const ended: number[] = [];
    const startedMs = performance.now();
    server.drain(4000);
    const watching = Promise.all(
      leaving.map(async (pod) => [(await pod.ended()).code, ended.push(performance.now() - startedMs)]),
    );
    const late = connectInPlaintext(port);
    late.request();
    await late.response(1);
    expect((await watching).map(([code]) => code)).toEqual(leaving.map(() => status.UNAVAILABLE));
    // A busy machine ends them later, never earlier; a timer may be a millisecond early.
    expect(ended.map((endMs, index) => endMs >= [1440, 2080, 2720, 3360][index]! - 5)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(server.streams()).toBe(1);
  });
});

describe("AdsServer.start()", () => {
  it("names address and setting when the port is in use", async () => {
    const { port } = await serve(snapshotOf(A));
    await expect(serve(snapshotOf(A), { port })).rejects.toMatchObject({
      code: "LISTEN_FAILED",
      message: `Cannot listen for ADS on 127.0.0.1:${port}: the port is in use; set ADS_PORT to another one`,
    });
  });
});

/**
 * Hands bytes through until it freezes: then nothing passes and nothing is closed, until it thaws.
 */
async function startProxy(target: number): Promise<{ port: number; freeze: () => void; thaw: () => void }> {
  const sockets: Socket[] = [];
  const pairs: (readonly [Socket, Socket])[] = [];
  const server = createServer((inner) => {
    const outer = connect(target, "127.0.0.1");
    sockets.push(inner, outer);
    pairs.push([inner, outer], [outer, inner]);
    inner.pipe(outer);
    outer.pipe(inner);
    for (const socket of [inner, outer]) socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  running.push({
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    freeze: () => {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    thaw: () => {
      for (const [from, to] of pairs) from.pipe(to);
    },
  };
}
