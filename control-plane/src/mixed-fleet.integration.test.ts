// Tests of whole control planes with pods of several images: whatever one pod cannot load, and whichever
// replica it reaches, every pod has the newest rules that it accepts.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog } from "@weir/common/log/log";
import { limitsIn } from "@weir/harness/ads/pod-end";
import { type Answer, cannotLoad, ScriptedPod } from "@weir/harness/ads/scripted-pod";
import type { RateLimitConfig } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { eventually } from "@weir/harness/processes/eventually";
import { PodState, ResourceState, type Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { manifest, type ManifestText } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { askRollout } from "./report/rollout/ask-rollout.suite.ts";
import { parseSettings } from "./settings.ts";

/** Limits of this size are what an old image cannot load. */
const UNKNOWN_TO_OLD_IMAGES = 1000;

/** Answers as an image of a pod does. */
function answerOf(isOld: boolean): Answer {
  const isUnknown = ({ descriptors: [rule] }: RateLimitConfig): boolean =>
    isOld && (rule?.rateLimit?.requestsPerUnit ?? 0) >= UNKNOWN_TO_OLD_IMAGES;
  return cannotLoad(isUnknown, "error loading descriptor: unknown field");
}

describe("ControlPlane with pods of several images", () => {
  let root: string;
  let stateRoot: string;
  const replicas: { readonly controlPlane: ControlPlane; readonly lines: Record<string, unknown>[] }[] = [];
  const pods: ScriptedPod[] = [];

  function apply(...manifests: readonly ManifestText[]): void {
    for (const text of manifests)
      writeFileSync(join(root, `${text.namespace ?? ""}-${text.name}.yaml`), manifest(text));
    for (const { controlPlane } of replicas) controlPlane.reload();
  }

  async function startReplica(env: Readonly<Record<string, string>> = {}): Promise<number> {
    const settings = parseSettings({
      SOURCE_DIRECTORY: root,
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      ADS_PLAINTEXT: "true",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
      DEBOUNCE_QUIET: "5ms",
      ...env,
    });
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const controlPlane = new ControlPlane({ log, clock: Date.now, tracer: undefined }, settings);
    await controlPlane.lifecycle.start();
    replicas.push({ controlPlane, lines });
    return controlPlane.ads.address()?.port ?? 0;
  }

  async function stopReplica(): Promise<void> {
    await replicas.shift()?.controlPlane.lifecycle.stop();
  }

  function connect(port: number, id: string, { isOld = false } = {}): ScriptedPod {
    const pod = new ScriptedPod(port, { nodeId: id, answer: answerOf(isOld) });
    pods.push(pod);
    return pod;
  }

  async function serves(pod: ScriptedPod, limits: Readonly<Record<string, number>>): Promise<void> {
    await eventually("the limits of the pod", () =>
      expect(limitsIn(pod.acked.at(-1)!, ({ name }) => name)).toEqual(limits),
    );
  }

  async function report(): Promise<Rollout> {
    return await askRollout(replicas[0]?.controlPlane.http.address()?.port ?? 0);
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "weir-mixed-"));
    stateRoot = mkdtempSync(join(tmpdir(), "weir-mixed-state-"));
  });

  afterEach(async () => {
    for (const pod of pods.splice(0)) pod.close();
    while (replicas.length > 0) await stopReplica();
    for (const folder of [root, stateRoot]) rmSync(folder, { recursive: true, force: true });
  });

  const A: ManifestText = { name: "a", domain: "alpha", requestsPerUnit: 5 };
  const B: ManifestText = { name: "b", domain: "beta", requestsPerUnit: 7 };
  const NEW_A: ManifestText = { ...A, requestsPerUnit: UNKNOWN_TO_OLD_IMAGES };

  it("case A9: serves an old pod in a mixed fleet its earlier revision and every later edit, and a new pod the present one", async () => {
    apply(A, B);
    const port = await startReplica();
    const [old, current] = [connect(port, "core/old", { isOld: true }), connect(port, "core/new")];
    await serves(old, { "default/a": 5, "default/b": 7 });
    apply(NEW_A);
    await serves(current, { "default/a": 1000, "default/b": 7 });
    apply({ ...B, requestsPerUnit: 8 });
    await serves(old, { "default/a": 5, "default/b": 8 });
    await serves(current, { "default/a": 1000, "default/b": 8 });
    const { resources } = await report();
    expect(
      resources.map(({ name, state, servesLastGood, pods: counts }) => [
        name,
        state,
        servesLastGood,
        counts?.accepted,
        counts?.rejected,
        counts?.pending,
      ]),
    ).toEqual([
      ["a", ResourceState.QUARANTINED, true, 1, 1, 0],
      ["b", ResourceState.SERVED, false, 2, 0, 0],
    ]);
  });

  it("gives a pod that is rolled back to an old image the revision from before, also in a fleet that is named only now", async () => {
    apply(A, B);
    const port = await startReplica();
    const before = connect(port, "core/pod-1");
    apply(NEW_A);
    await serves(before, { "default/a": 1000, "default/b": 7 });
    before.close();
    await serves(connect(port, "core/pod-1", { isOld: true }), { "default/a": 5, "default/b": 7 });
    apply({ name: "c", domain: "gamma", fleets: ["edge"], requestsPerUnit: 3 });
    await serves(connect(port, "edge/pod-2", { isOld: true }), { "default/a": 5, "default/b": 7, "default/c": 3 });
  });

  it("leaves out only what an old pod cannot load when no other revision is kept, and logs and reports it", async () => {
    apply(NEW_A, B);
    const port = await startReplica();
    const old = connect(port, "core/old", { isOld: true });
    await serves(old, { "default/b": 7 });
    const quarantine = replicas[0]?.lines.find((line) => String(line["@message"]).startsWith("Quarantined"));
    expect(quarantine).toMatchObject({
      level: "error",
      "@message": "Quarantined a resource that pods NACK, it is left out",
      resource: "default/a",
      fleet: "core",
      text: "default/a: error loading descriptor: unknown field",
    });
    const [entry] = (await report()).resources;
    expect(entry).toMatchObject({
      state: ResourceState.QUARANTINED,
      reason: "RejectedByDataPlane",
      servesLastGood: false,
    });
    apply({ ...A, requestsPerUnit: 6 });
    await serves(old, { "default/a": 6, "default/b": 7 });
    await eventually("the end of the quarantine", async () => {
      expect((await report()).resources.map(({ state }) => state)).toEqual([
        ResourceState.SERVED,
        ResourceState.SERVED,
      ]);
      expect(replicas[0]?.lines.some((line) => line["@message"] === "Ended the quarantine of a resource")).toBe(true);
    });
  });

  it("reports a pod as current again when what it NACKed is deleted, though it is sent nothing", async () => {
    apply(A, B);
    const port = await startReplica();
    const old = connect(port, "core/old", { isOld: true });
    await serves(old, { "default/a": 5, "default/b": 7 });
    apply({ name: "c", domain: "gamma", requestsPerUnit: UNKNOWN_TO_OLD_IMAGES });
    await eventually("the NACK", async () => expect((await report()).pods[0]?.state).toBe(PodState.REJECTED));
    expect((await report()).resources[2]).toMatchObject({ state: ResourceState.QUARANTINED, pods: { rejected: 1 } });
    const { length } = old.responses;
    rmSync(join(root, "-c.yaml"));
    for (const { controlPlane } of replicas) controlPlane.reload();
    await eventually("the end of the NACK", async () =>
      expect((await report()).pods[0]).toMatchObject({ state: PodState.ACCEPTED, rejection: "" }),
    );
    expect(old.responses).toHaveLength(length);
  });

  it("serves two identical pods the same, whichever replica they reach, when a replica is replaced in between", async () => {
    apply(A, B);
    const state = { STATE_DIRECTORY: stateRoot };
    const first = await startReplica(state);
    await serves(connect(first, "core/pod-0", { isOld: true }), { "default/a": 5, "default/b": 7 });
    await stopReplica();
    apply(NEW_A);
    const port = await startReplica(state);
    const [one, two] = [connect(port, "core/pod-1", { isOld: true }), connect(port, "core/pod-2", { isOld: true })];
    await serves(one, { "default/a": 5, "default/b": 7 });
    await serves(two, { "default/a": 5, "default/b": 7 });
  });

  it("keeps every limit when all replicas restart while a resource is invalid", async () => {
    apply(A, B);
    const states = [1, 2].map((number) => ({ STATE_DIRECTORY: join(stateRoot, String(number)) }));
    for (const state of states) await startReplica(state);
    apply({ ...A, unit: "fortnight" });
    while (replicas.length > 0) await stopReplica();
    for (const state of states) {
      const port = await startReplica(state);
      await serves(connect(port, "core/pod-1"), { "default/a": 5, "default/b": 7 });
    }
    expect((await report()).resources[0]).toMatchObject({
      state: ResourceState.REFUSED,
      servesLastGood: true,
      reason: "InvalidSpec",
    });
  });

  it("case A13: serves every other tenant's edits, and after a restart the oldest, when one tenant's resources do not fit", async () => {
    const env = { SNAPSHOT_MAX_BYTES: "20000" };
    const large = (name: string, year: number): ManifestText => ({
      name,
      domain: name,
      namespace: "greedy",
      largeRules: 8,
      created: `${year}-01-01T00:00:00Z`,
    });
    apply({ ...A, created: "2020-01-01T00:00:00Z" }, large("one", 2021));
    let port = await startReplica(env);
    const pod = connect(port, "core/pod-1");
    apply(large("two", 2022), large("three", 2023));
    await serves(pod, { "default/a": 5, "greedy/one": 5, "greedy/two": 5 });
    apply({ ...A, requestsPerUnit: 6, created: "2020-01-01T00:00:00Z" }, { ...B, created: "2024-01-01T00:00:00Z" });
    await serves(pod, { "default/a": 6, "default/b": 7, "greedy/one": 5, "greedy/two": 5 });
    const waiting = (await report()).resources.find(({ name }) => name === "three");
    expect(waiting).toMatchObject({ state: ResourceState.REFUSED, reason: "TooLarge", problems: [{ field: "spec" }] });
    await stopReplica();
    port = await startReplica(env);
    await serves(connect(port, "core/pod-1"), { "default/a": 6, "default/b": 7, "greedy/one": 5, "greedy/two": 5 });
  });
});
