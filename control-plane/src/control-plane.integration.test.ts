// Tests of the control plane as a whole, in this process: a folder of manifests on one side, pods
// over mutual TLS on the other.
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { status } from "@grpc/grpc-js";
import { createLog } from "@weir/common/log/log";
import { namesOf } from "@weir/harness/ads/pod-end";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { Hold, PodState, ResourceState, type Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createTestCertificates, tlsOf, type TestCertificates, until } from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";
import { askRollout } from "./report/rollout/ask-rollout.suite.ts";

/**
 * A look at the folder that no test waits for: changes are noticed by events, or when it is told to
 * look. In milliseconds.
 */
const NEVER_MS = 3_600_000;

/**
 * A pause in a burst of edits that may make it two, in milliseconds: what is quiet for 100 ms is
 * published.
 */
const STALL_MS = 50;

describe("ControlPlane", () => {
  let folder: string;
  let certificates: TestCertificates;
  let controlPlane: ControlPlane;
  let lines: Record<string, unknown>[];
  const pods: ScriptedPod[] = [];

  /** Saves a file as editors do: written next to and renamed. */
  function save(name: string, text: string): void {
    writeFileSync(join(folder, `.${name}.tmp`), text);
    renameSync(join(folder, `.${name}.tmp`), join(folder, name));
  }

  async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const settings = parseSettings({
      SOURCE_DIRECTORY: folder,
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
      ADS_TLS_CERT: certificates.server.certPath,
      ADS_TLS_KEY: certificates.server.keyPath,
      ADS_TLS_CLIENT_CACERT: certificates.server.caPath,
      ADS_ALLOWED_SANS: "ratelimit",
      ...env,
    });
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    controlPlane = new ControlPlane({ log, clock: Date.now, tracer: undefined, folderLookMs: NEVER_MS }, settings);
    await controlPlane.lifecycle.start();
  }

  async function connect(nodeId: string): Promise<ScriptedPod> {
    const pod = new ScriptedPod(controlPlane.ads.address()?.port ?? 0, {
      tls: tlsOf(await certificates.issueClient()),
    });
    pods.push(pod);
    pod.request({ node: { id: nodeId } });
    return pod;
  }

  async function get(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${controlPlane.http.address()?.port ?? 0}${path}`);
  }

  async function report(): Promise<Rollout> {
    return await askRollout(controlPlane.http.address()?.port ?? 0);
  }

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-control-plane-")));
    certificates = await createTestCertificates();
    lines = [];
  });

  afterEach(async () => {
    for (const pod of pods.splice(0)) pod.close();
    await controlPlane.lifecycle.stop();
    certificates.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it("brings a folder of manifests to a pod, and reports that it accepted them", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start();
    const pod = await connect("gateway/pod-7");
    expect(namesOf(await pod.response(1))).toEqual(["default/a"]);
    pod.accept();
    await until("acceptance", async () => (await report()).pods[0]?.state === PodState.ACCEPTED);
    const { version } = (await report()).fleets[0] ?? {};
    expect(pod.last.versionInfo).toBe(version);
    expect(lines).toContainEqual(
      expect.objectContaining({ "@message": "Pod ACKed snapshot", pod: "gateway/pod-7", version }),
    );
    expect(await (await get("/readyz")).text()).toBe(`ready\n* ${String(version)}\n`);
    expect((await get("/healthz")).status).toBe(200);
    expect(await (await get("/metrics")).text()).toContain("weir_ads_acks_total 1");
  });

  it("calls a pod by the namespace and name in its metadata in every line about it", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start();
    const pod = new ScriptedPod(controlPlane.ads.address()?.port ?? 0, {
      tls: tlsOf(await certificates.issueClient()),
    });
    pods.push(pod);
    pod.request({ node: { id: "gateway/x", metadata: { namespace: "edge", pod: "pod-7" } } });
    await pod.response(1);
    pod.accept();
    pod.request({ type: "" });
    expect((await pod.ended()).code).toBe(status.INVALID_ARGUMENT);
    await until("the last line", () => lines.some((line) => line["@message"] === "Pod disconnected"));
    const named = lines.filter((line) => "pod" in line).map((line) => [line["@message"], line["pod"]]);
    expect(named).toEqual([
      ["Pod connected", "edge/pod-7"],
      ["Pod ACKed snapshot", "edge/pod-7"],
      ["Ended an ADS stream, the client violated the protocol", "edge/pod-7"],
      ["Pod disconnected", "edge/pod-7"],
    ]);
  });

  it("reads resources again when it is told to, also those that changed without an event", async () => {
    const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "weir-control-plane-")));
    for (const version of [1, 2]) {
      mkdirSync(join(elsewhere, `v${version}`));
      writeFileSync(join(elsewhere, `v${version}`, "a.yaml"), manifest({ name: `a${version}`, domain: "alpha" }));
    }
    symlinkSync("v1", join(elsewhere, "current"));
    symlinkSync(join(elsewhere, "current", "a.yaml"), join(folder, "a.yaml"));
    await start();
    const pod = await connect("gateway/pod-1");
    expect(namesOf(await pod.response(1))).toEqual(["default/a1"]);
    // Nobody watches the folder in which this happens.
    symlinkSync("v2", join(elsewhere, "next"));
    renameSync(join(elsewhere, "next"), join(elsewhere, "current"));
    controlPlane.reload();
    expect(namesOf(await pod.response(2))).toEqual(["default/a2"]);
    rmSync(elsewhere, { recursive: true });
  });

  it("brings a saved change to the pod, and keeps the old rules while a file is broken", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start();
    const pod = await connect("pod");
    await pod.response(1);
    save("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 6 }));
    await pod.response(2);
    pod.accept();
    save("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 99 }));
    const { length: before } = pod.responses;
    await pod.response(before + 1);

    save("a.yaml", manifest({ name: "a", domain: "alpha", unit: "fortnight" }));
    await until("the refusal", async () => (await report()).resources[0]?.problems.length === 1);
    expect(await report()).toMatchObject({
      resources: [
        {
          name: "a",
          state: ResourceState.REFUSED,
          servesLastGood: true,
          problems: [{ field: "spec.descriptors[0].rateLimit.unit", location: `${join(folder, "a.yaml")}:10:15` }],
        },
      ],
    });
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: "warning",
        "@message": "Rejected a manifest, its last good resources stay active",
        file: join(folder, "a.yaml"),
        line: 10,
        field: "spec.descriptors[0].rateLimit.unit",
      }),
    );
    // The same content as active: nothing is sent until there is other content.
    save("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: 99 }));
    await until("the repair", async () => (await report()).resources[0]?.problems.length === 0);
    save("b.yaml", manifest({ name: "b", domain: "beta" }));
    expect(namesOf(await pod.response(before + 2))).toEqual(["default/a", "default/b"]);
    expect(pod.responses).toHaveLength(before + 2);
  });

  it("case A7: coalesces a thousand quick edits to a few pushes, and delivers the last", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start();
    const pod = await connect("pod");
    await pod.response(1);
    const startedMs = performance.now();
    let stalls = 0;
    for (let limit = 1, lastMs = startedMs; limit <= 1000; limit += 1) {
      save("a.yaml", manifest({ name: "a", domain: "alpha", requestsPerUnit: limit }));
      await new Promise((resolve) => setImmediate(resolve));
      const nowMs = performance.now();
      if (nowMs - lastMs > STALL_MS) stalls += 1;
      lastMs = nowMs;
    }
    const seconds = (performance.now() - startedMs) / 1000;
    save("last.yaml", manifest({ name: "last", domain: "last" }));
    await until("the last edit", () => namesOf(pod.last).includes("default/last"));
    // At most one a second during the burst (DEBOUNCE_MAX), and one or two after it; and one for
    // each time that this process stood still for long.
    expect(pod.responses.length - 1).toBeLessThanOrEqual(Math.ceil(seconds) + 2 + stalls);
    const { version } = (await report()).fleets[0] ?? {};
    expect(pod.last.versionInfo).toBe(version);
  });

  it("shows a NACK with its text, leaves out what it names, and sends nothing more until content changes", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start();
    const pod = await connect("pod");
    await pod.response(1);
    pod.reject("default/a: <b>no</b>");
    expect(namesOf(await pod.response(2))).toEqual([]);
    pod.accept();
    await until("rejection", async () => (await report()).pods[0]?.state === PodState.REJECTED);
    const { pods: reported, resources } = await report();
    expect([reported[0]?.rejection, resources[0]?.state]).toEqual(["default/a: <b>no</b>", ResourceState.QUARANTINED]);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: "error", "@message": "Pod NACKed snapshot", text: "default/a: <b>no</b>" }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: "error",
        "@message": "Quarantined a resource that pods NACK, it is left out",
        fleet: "pod",
        resource: "default/a",
        text: "default/a: <b>no</b>",
      }),
    );
    save("b.yaml", manifest({ name: "b", domain: "beta" }));
    expect(namesOf(await pod.response(3))).toEqual(["default/b"]);
    expect(pod.responses).toHaveLength(3);
  });

  it("case A6: sends nothing while only an empty folder is there, and sends what comes first", async () => {
    await start();
    const pod = await connect("pod");
    await until("the pod", async () => (await report()).pods.length === 1);
    expect([(await report()).pods[0]?.state, pod.responses.length]).toEqual([PodState.UNSPECIFIED, 0]);
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    expect(namesOf(await pod.response(1))).toEqual(["default/a"]);
  });

  it("reports pods that nothing is left when it stayed so for ALLOW_EMPTY_AFTER", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start({ ALLOW_EMPTY_AFTER: "10s" });
    const pod = await connect("pod");
    await pod.response(1);
    unlinkSync(join(folder, "a.yaml"));
    await until("the guard", async () => (await report()).fleets[0]?.hold === Hold.EMPTY);
    expect(pod.responses).toHaveLength(1);
    expect(namesOf(await pod.response(2))).toEqual([]);
  });

  it("fails /readyz when it drains, continues serving, and sends pods away one after the other", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    await start();
    const pod = await connect("pod");
    await pod.response(1);
    const leaving = [pod, await connect("b"), await connect("c")];
    for (const each of leaving) await each.response(1);
    const startedMs = performance.now();
    controlPlane.drain(4000);
    const endings = leaving.map(async (each) => ({ end: await each.ended(), afterMs: performance.now() - startedMs }));
    expect((await get("/readyz")).status).toBe(503);
    // Nobody sends this one away: how long saving and publishing take does not matter.
    const late = await connect("late");
    await late.response(1);
    save("b.yaml", manifest({ name: "b", domain: "beta" }));
    expect(namesOf(await late.response(2))).toEqual(["default/a", "default/b"]);
    const ends = (await Promise.all(endings)).toSorted((left, right) => left.afterMs - right.afterMs);
    expect(ends.map(({ end }) => end.code)).toEqual([status.UNAVAILABLE, status.UNAVAILABLE, status.UNAVAILABLE]);
    // A busy machine ends them later, never earlier; a timer may be a millisecond early.
    expect(ends.map(({ afterMs }, index) => afterMs >= [1600, 2400, 3200][index]! - 5)).toEqual([true, true, true]);
  });

  it("gives two control planes over the same folder the same version", async () => {
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
    save("b.yaml", manifest({ name: "b", domain: "beta" }));
    await start();
    const first = (await report()).fleets[0]?.version;
    await controlPlane.lifecycle.stop();
    await start();
    expect((await report()).fleets[0]?.version).toBe(first);
  });
});
