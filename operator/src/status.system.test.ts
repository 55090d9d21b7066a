// Statuses with a real API server and two real control plane replicas: whatever happens, they end right.
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";

import { conditionTexts, startStatusFixture, type StatusFixture } from "./status-fixture.suite.ts";

const READY = { Accepted: "True Valid", Programmed: "True Programmed", Ready: "True Ready" };

describe("StatusReconciler with two replicas", () => {
  let fixture: StatusFixture;
  let pods: ScriptedPod[];

  beforeAll(async () => {
    fixture = await startStatusFixture();
    await fixture.startOperator();
    pods = [fixture.pod("edge/a", 0), fixture.pod("edge/b", 1)];
  });

  afterAll(async () => {
    await fixture.stop();
  });

  it("is ready when the pods of both replicas have ACKed, and stays so through an edit", async () => {
    await fixture.apply("mail");
    const { status } = await fixture.expectConditions("mail", READY);
    expect(status?.pods?.summary).toBe("2/2");
    const before = fixture.writes.get("mail") ?? 0;
    await fixture.apply("mail", { limit: 2 });
    // kubectl looks at observedGeneration: it waits for this generation.
    await fixture.kubectl("wait", "--for=condition=Ready", "rlc/mail", "--namespace=shop", "--timeout=30s");
    const after = await fixture.get("mail");
    expect([after.status?.observedGeneration, after.metadata.generation]).toEqual([2, 2]);
    expect(fixture.writes.get("mail")).toBe(before + 1);
  });

  it("writes nothing for other resources when one is edited", async () => {
    await fixture.apply("other");
    await fixture.expectConditions("other", READY);
    const before = fixture.writes.get("mail");
    await fixture.apply("other", { limit: 7 });
    await fixture.expectConditions("other", READY);
    expect(fixture.writes.get("mail")).toBe(before);
  });

  it("names the field of invalid rules", async () => {
    // The API server lets through what only the validator of all rules finds.
    await fixture.cluster.apply(
      JSON.stringify({
        apiVersion: "ratelimit.weir.dev/v1alpha1",
        kind: "RateLimitConfig",
        metadata: { name: "broken", namespace: "shop" },
        spec: { domain: "broken", descriptors: [{ key: "a", descriptors: [INVALID_DEEP_RULE] }] },
      }),
    );
    const { status } = await fixture.expectConditions("broken", {
      Accepted: "False InvalidSpec",
      Programmed: "False NotAccepted",
      Ready: "False InvalidSpec",
    });
    expect(status?.problems?.[0]?.field).toContain("spec.descriptors[0].descriptors[0]");
  });

  it("gives a domain to the next resource when its owner is deleted", async () => {
    await fixture.apply("first", { domain: "shared" });
    await fixture.expectConditions("first", READY);
    const second = Math.floor(Date.now() / 1000); // Ages count in seconds.
    await eventually("a later second", () => expect(Math.floor(Date.now() / 1000)).toBeGreaterThan(second));
    await fixture.apply("second", { domain: "shared" });
    await fixture.expectConditions("second", { Accepted: "False DomainConflict" });
    await fixture.kubectl("delete", "rlc", "first", "--namespace=shop");
    await fixture.expectConditions("second", READY);
  });

  it("shows the words of a pod that NACKs, until the resource or the pod is gone", async () => {
    const old = fixture.pod("edge/old", 1, "weekly");
    await fixture.apply("weekly");
    const { status } = await fixture.expectConditions("weekly", { Programmed: "False RejectedByDataPlane" });
    expect(status?.rejections).toEqual([{ pod: "edge/old", message: "shop/weekly: no such unit" }]);
    expect(status?.pods?.summary).toBe("2/3");
    await fixture.kubectl("delete", "rlc", "weekly", "--namespace=shop");
    await fixture.expectConditions("mail", READY);
    await fixture.apply("weekly", { limit: 2 });
    await fixture.expectConditions("weekly", { Programmed: "False RejectedByDataPlane" });
    old.close();
    await fixture.expectConditions("weekly", READY);
    await eventually("the event", async () => {
      const events = await fixture.kubectl("get", "events", "--namespace=shop", "--output=name");
      expect(events).toContain("event/weekly.");
    });
  });

  it("reports a fleet without pods", async () => {
    const canary = fixture.pod("canary/a", 0);
    await fixture.apply("canary", { fleets: ["canary"] });
    await fixture.expectConditions("canary", READY);
    canary.close();
    await fixture.expectConditions("canary", { Accepted: "True Valid", Programmed: "False NoDataPlane" });
  });

  it("counts the ready pods of an owned fleet, and no client that claims to be one", async () => {
    const core = (pod: string): JsonObject => ({ namespace: "shop", pod, fleet: "shop.core" });
    fixture.setReadyPods("shop.core", "shop/core-a", "shop/core-b");
    const first = fixture.pod("core-a", 0, undefined, core("core-a"));
    await fixture.apply("core", { fleets: ["shop.core"] });
    const lacking = await fixture.expectConditions("core", { Ready: "False PartiallyProgrammed" });
    expect(lacking.status?.conditions?.[1]?.message).toBe(
      "1 of 2 pods enforce the rules, 1 ready pod is not connected",
    );
    // Whatever they answer: one NACKs, one never does.
    const claims = [
      fixture.pod("core-x", 0, "core", core("core-x")),
      fixture.pod("core-y", 1, undefined, core("core-y")),
    ];
    claims[1]!.answer = () => undefined;
    const second = fixture.pod("core-b", 1, undefined, core("core-b"));
    await fixture.expectConditions("core", READY);
    await fixture.expectConditions("mail", READY);
    const before = fixture.writes.get("mail");
    await fixture.apply("core", { fleets: ["shop.core"], limit: 2 });
    const { status } = await fixture.expectConditions("core", READY);
    expect(status?.fleets).toMatchObject([{ name: "shop.core", total: 2, accepted: 2, unknown: 2 }]);
    // A pod that loses its stream keeps its rules; one that has not got the edit holds it up.
    second.close();
    await fixture.apply("core", { fleets: ["shop.core"], limit: 3 });
    await fixture.expectConditions("core", { Ready: "False PartiallyProgrammed" });
    // The counts of pods may have been written once more.
    expect(fixture.writes.get("mail")! - before!).toBeLessThanOrEqual(1);
    fixture.setReadyPods("shop.core", "shop/core-a");
    await fixture.expectConditions("core", READY);
    for (const pod of [first, ...claims]) pod.close();
    fixture.setReadyPods("shop.core");
  });

  it("names a replica that is frozen within 10 s, and trusts it again when it answers", async () => {
    await fixture.expectConditions("mail", READY);
    await fixture.replicas[1]!.process.pause();
    const { status } = await fixture.expectConditions(
      "mail",
      { Accepted: "Unknown ReplicaSilent", Programmed: "Unknown ReplicaSilent", Ready: "Unknown ReplicaSilent" },
      25_000, // On a busy machine.
    );
    expect(status?.conditions?.[1]?.message).toMatch(/^Replica \S+ of the control plane does not answer$/);
    fixture.replicas[1]!.process.resume();
    await fixture.expectConditions("mail", READY);
  });

  it("counts a replica no more whose endpoint is gone", async () => {
    fixture.setEndpoints(0);
    await fixture.expectPods("mail", "1/1");
    fixture.setEndpoints(0, 1);
    await fixture.expectPods("mail", "2/2");
    expect(conditionTexts(await fixture.get("mail"))).toEqual(READY);
  });

  it("ends right after the operator was down", async () => {
    await fixture.expectPods("other", "2/2");
    await fixture.stopOperator();
    await fixture.apply("mail", { limit: 9 });
    const before = fixture.writes.get("other");
    await fixture.startOperator();
    await fixture.expectConditions("mail", READY);
    expect(fixture.writes.get("other")).toBe(before);
  });

  it("ends right after the kind was deleted and installed again", async () => {
    await fixture.kubectl("delete", "crd", "ratelimitconfigs.ratelimit.weir.dev");
    await fixture.cluster.installKinds("ratelimitconfigs");
    await fixture.apply("mail", { limit: 3 });
    await fixture.expectConditions("mail", READY);
    for (const pod of pods) pod.close();
    await fixture.expectConditions("mail", { Programmed: "False NoDataPlane", Ready: "False NoDataPlane" });
  });
});

/** A rule that the schema accepts and the validator does not. */
const INVALID_DEEP_RULE = { key: "b", value: "x", shareThreshold: true };
