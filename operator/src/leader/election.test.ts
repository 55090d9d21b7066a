import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { describe, expect, it } from "vitest";

import { decide, observe } from "./election.ts";
import { leaseObject } from "./lease.ts";

const ME = { identity: "me", durationMs: 15_000 };

function leaseOf(spec: Readonly<Record<string, unknown>>, resourceVersion = "1", uid = "u"): KubernetesObject {
  return {
    name: "lease",
    namespace: "system",
    uid,
    resourceVersion,
    generation: undefined,
    content: { metadata: { name: "lease", labels: { a: "b" }, resourceVersion }, spec },
  };
}

describe("decide()", () => {
  it.each([
    { what: "has no holder", spec: {}, afterMs: 0, decision: "take" },
    { what: "was released", spec: { holderIdentity: "", leaseDurationSeconds: 1 }, afterMs: 0, decision: "take" },
    {
      what: "is one's own",
      spec: { holderIdentity: "me", leaseDurationSeconds: 15 },
      afterMs: 99_999,
      decision: "renew",
    },
    {
      what: "was seen to change a moment ago",
      spec: { holderIdentity: "other", leaseDurationSeconds: 15, renewTime: "1999-01-01T00:00:00.000000Z" },
      afterMs: 14_999,
      decision: "wait",
    },
    {
      what: "was seen to change long ago",
      spec: { holderIdentity: "other", leaseDurationSeconds: 15, renewTime: "2999-01-01T00:00:00.000000Z" },
      afterMs: 15_000,
      decision: "take",
    },
    {
      what: "is that of a holder with a longer time",
      spec: { holderIdentity: "other", leaseDurationSeconds: 60 },
      afterMs: 59_999,
      decision: "wait",
    },
    { what: "does not say its time", spec: { holderIdentity: "other" }, afterMs: 14_999, decision: "wait" },
    {
      what: "has a time of no sense",
      spec: { holderIdentity: "other", leaseDurationSeconds: -5 },
      afterMs: 14_999,
      decision: "wait",
    },
  ])("decide() is $decision when the Lease $what", ({ spec, afterMs, decision }) => {
    const observed = observe(undefined, leaseOf(spec), 1000);
    expect(decide(observed, { ...ME, nowMs: 1000 + afterMs })).toBe(decision);
  });

  it("decide() is take when there is no Lease and none was seen", () => {
    expect(decide(observe(undefined, undefined, 0), { ...ME, nowMs: 0 })).toBe("take");
  });
});

describe("observe()", () => {
  const spec = { holderIdentity: "other", leaseDurationSeconds: 15 };
  const before = observe(undefined, leaseOf(spec), 1000);

  it.each([
    { what: "the same version", object: leaseOf(spec), seenMs: 1000 },
    { what: "a new version", object: leaseOf(spec, "2"), seenMs: 2000 },
    { what: "another Lease of the same name", object: leaseOf(spec, "1", "v"), seenMs: 2000 },
    { what: "no Lease any more", object: undefined, seenMs: 1000 },
  ])("observe() has seen the last change at $seenMs when it sees $what", ({ object, seenMs }) => {
    expect(observe(before, object, 2000)?.seenMs).toBe(seenMs);
  });
});

describe("leaseObject()", () => {
  const name = { namespace: "system", name: "lease" };
  const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
  const now = "2026-01-02T03:04:05.006000Z";
  const earlier = "2026-01-01T00:00:00.000000Z";
  const before = leaseOf({
    holderIdentity: "other",
    leaseDurationSeconds: 15,
    acquireTime: earlier,
    renewTime: earlier,
    leaseTransitions: 4,
    strategy: "OldestEmulationVersion",
  });

  it("leaseObject() counts a new holder, replaces the version that was read, and keeps the fields of others", () => {
    expect(leaseObject(name, before, { holder: "me", durationMs: 3000, nowMs })).toEqual({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...name, labels: { a: "b" }, resourceVersion: "1" },
      spec: {
        holderIdentity: "me",
        leaseDurationSeconds: 3,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 5,
        strategy: "OldestEmulationVersion",
      },
    });
  });

  it.each([
    {
      what: "a renewal",
      before,
      holder: "other",
      spec: { holderIdentity: "other", acquireTime: earlier, renewTime: now, leaseTransitions: 4 },
    },
    {
      what: "a release",
      before,
      holder: "",
      spec: { holderIdentity: "", acquireTime: now, renewTime: now, leaseTransitions: 4 },
    },
    {
      what: "the first holder",
      before: undefined,
      holder: "me",
      spec: { holderIdentity: "me", acquireTime: now, renewTime: now, leaseTransitions: 0 },
    },
  ])("leaseObject() writes $what", ({ before: lease, holder, spec }) => {
    expect(leaseObject(name, lease, { holder, durationMs: 3000, nowMs })["spec"]).toMatchObject(spec);
  });
});
