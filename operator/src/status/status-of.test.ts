// Tests of status-of.ts: tables of what replicas report, and the status of each.
import { describe, expect, it } from "vitest";

import type { KnownResource, ResourceReports } from "../reports/merged-reports.ts";
import type { ObservedResource } from "./observed-resource.ts";
import { conditionsOf, fleetOf, INVALID, knownOf, NOW_MS, reportsOf, RESOURCE } from "./replica-reports.suite.ts";
import { statusOf } from "./status-of.ts";

const NOW = "2026-01-31T12:00:00Z";
const REFUSED = knownOf({
  reason: "DomainConflict",
  problems: [{ field: "spec.domain", message: "domain belongs to a/b" }],
  fleets: [],
});
const NACKED = fleetOf(1, { rejected: [{ pod: "web/b", message: "shop/mail: no such unit" }] });

describe("statusOf()", () => {
  it("says that the rules are in shadow mode, and nothing while they are not", () => {
    const shadowModeOf = (resource: ObservedResource) =>
      statusOf(resource, reportsOf([knownOf()]), NOW_MS, undefined).status.shadowMode;
    expect([true, false].map((shadowMode) => shadowModeOf({ ...RESOURCE, shadowMode }))).toEqual([true, undefined]);
  });

  it.each<{
    when: string;
    resource?: ObservedResource;
    reports: ResourceReports;
    accepted: string;
    programmed: string;
    ready: string;
  }>([
    {
      when: "every pod of every replica has ACKed",
      reports: reportsOf([knownOf(), knownOf()]),
      accepted: "True Valid",
      programmed: "True Programmed",
      ready: "True Ready",
    },
    {
      when: "a replica is silent",
      reports: reportsOf([knownOf()], { silent: ["cp-9"] }),
      accepted: "Unknown ReplicaSilent",
      programmed: "Unknown ReplicaSilent",
      ready: "Unknown ReplicaSilent",
    },
    {
      when: "a replica is silent and another one refuses the rules",
      reports: reportsOf([REFUSED], { silent: ["cp-9"] }),
      accepted: "Unknown ReplicaSilent",
      programmed: "Unknown ReplicaSilent",
      ready: "Unknown ReplicaSilent",
    },
    {
      when: "the rules are invalid and a replica is silent",
      resource: INVALID,
      reports: reportsOf([knownOf()], { silent: ["cp-9"] }),
      accepted: "False InvalidSpec",
      programmed: "Unknown ReplicaSilent",
      ready: "False InvalidSpec",
    },
    {
      when: "the rules are invalid and no replica is ready",
      resource: INVALID,
      reports: reportsOf([]),
      accepted: "False InvalidSpec",
      programmed: "Unknown NoControlPlane",
      ready: "False InvalidSpec",
    },
    {
      when: "no replica is ready",
      reports: reportsOf([]),
      accepted: "Unknown NoControlPlane",
      programmed: "Unknown NoControlPlane",
      ready: "Unknown NoControlPlane",
    },
    {
      when: "a replica knows an earlier generation only",
      reports: reportsOf([knownOf(), knownOf({ generation: 2 })]),
      accepted: "Unknown Pending",
      programmed: "Unknown Pending",
      ready: "Unknown Pending",
    },
    {
      when: "a replica knows another resource of the name",
      reports: reportsOf([knownOf({ uid: "u0" })]),
      accepted: "Unknown Pending",
      programmed: "Unknown Pending",
      ready: "Unknown Pending",
    },
    {
      when: "a replica does not know it",
      reports: reportsOf([knownOf(), undefined]),
      accepted: "Unknown Pending",
      programmed: "Unknown Pending",
      ready: "Unknown Pending",
    },
    {
      when: "a replica has just been found",
      reports: reportsOf([knownOf()], { awaited: ["cp-9"] }),
      accepted: "Unknown Pending",
      programmed: "Unknown Pending",
      ready: "Unknown Pending",
    },
    {
      when: "one replica refuses it",
      reports: reportsOf([knownOf(), REFUSED]),
      accepted: "False DomainConflict",
      programmed: "False NotAccepted",
      ready: "False DomainConflict",
    },
    {
      when: "a replica knows only that it is too many",
      reports: reportsOf([knownOf({ uid: "", generation: 0, reason: "TooMany", fleets: [] })]),
      accepted: "False TooMany",
      programmed: "False NotAccepted",
      ready: "False TooMany",
    },
    {
      when: "no pod is connected",
      reports: reportsOf([knownOf({ fleets: [fleetOf(0)] })]),
      accepted: "True Valid",
      programmed: "False NoDataPlane",
      ready: "False NoDataPlane",
    },
    {
      when: "one of its fleets has no pod",
      reports: reportsOf([knownOf({ fleets: [fleetOf(2, { name: "a" }), fleetOf(0, { name: "b" })] })]),
      accepted: "True Valid",
      programmed: "True Programmed",
      ready: "True Ready",
    },
    {
      when: "a pod NACKed it",
      reports: reportsOf([knownOf(), knownOf({ fleets: [NACKED] })]),
      accepted: "True Valid",
      programmed: "False RejectedByDataPlane",
      ready: "False RejectedByDataPlane",
    },
    {
      when: "some pods have not answered",
      reports: reportsOf([knownOf({ fleets: [fleetOf(1, { pending: 1 })] })]),
      accepted: "True Valid",
      programmed: "False PartiallyProgrammed",
      ready: "False PartiallyProgrammed",
    },
    {
      when: "a ready pod is not connected",
      reports: reportsOf([knownOf()], { gaps: [{ name: "*", missing: 1, unknown: 0 }] }),
      accepted: "True Valid",
      programmed: "False PartiallyProgrammed",
      ready: "False PartiallyProgrammed",
    },
    {
      when: "clients claim to be pods",
      reports: reportsOf([knownOf()], { gaps: [{ name: "*", missing: 0, unknown: 2 }] }),
      accepted: "True Valid",
      programmed: "True Programmed",
      ready: "True Ready",
    },
    {
      when: "no pod has answered",
      reports: reportsOf([knownOf({ fleets: [fleetOf(0, { pending: 1 })] })]),
      accepted: "True Valid",
      programmed: "False Pending",
      ready: "False Pending",
    },
  ])("is $accepted, $programmed when $when", ({ resource = RESOURCE, reports, accepted, programmed, ready }) => {
    expect(conditionsOf(resource, reports)).toEqual({ Accepted: accepted, Programmed: programmed, Ready: ready });
  });

  it("gives counts by fleet, and each NACK in the words of its pod", () => {
    const reports = reportsOf([
      knownOf({ fleets: [fleetOf(2, { name: "a" }), fleetOf(1, { name: "b", digest: "d2" })], servesLastGood: true }),
      knownOf({ fleets: [{ ...NACKED, name: "a" }] }),
    ]);
    expect(statusOf({ ...RESOURCE, fleets: ["a", "b"] }, reports, NOW_MS, undefined).status).toMatchObject({
      observedGeneration: 3,
      domain: "mail",
      servesLastGood: true,
      pods: { total: 5, accepted: 4, rejected: 1, pending: 0, summary: "4/5" },
      fleets: [
        { name: "a", version: "d1", total: 4, accepted: 3, rejected: 1, pending: 0 },
        { name: "b", version: "d2", total: 1, accepted: 1, rejected: 0, pending: 0 },
      ],
      rejections: [{ pod: "web/b", message: "shop/mail: no such unit" }],
    });
  });

  it("names no fleet that the rules do not name, and counts them together", () => {
    const reports = reportsOf(
      [knownOf({ fleets: [fleetOf(2, { name: "bank.a" }), fleetOf(1), fleetOf(0, { name: "bank.b" })] })],
      { gaps: [{ name: "bank.a", missing: 1, unknown: 3 }] },
    );
    const { status } = statusOf(RESOURCE, reports, NOW_MS, undefined);
    expect(status.fleets).toEqual([{ name: "*", version: "d1", total: 4, accepted: 3, rejected: 0, pending: 1 }]);
    expect(JSON.stringify(status)).not.toContain("bank");
    expect(status.conditions?.[1]?.message).toBe("3 of 4 pods enforce the rules, 1 ready pod is not connected");
  });

  it("lists clients that claim to be of a fleet with the fleet, where the rules name it", () => {
    const reports = reportsOf([knownOf({ fleets: [fleetOf(1, { name: "shop.core" })] })], {
      gaps: [{ name: "shop.core", missing: 0, unknown: 2 }],
    });
    expect(statusOf({ ...RESOURCE, fleets: ["shop.core"] }, reports, NOW_MS, undefined).status).toMatchObject({
      pods: { total: 1, accepted: 1 },
      fleets: [{ name: "shop.core", total: 1, accepted: 1, unknown: 2 }],
    });
  });

  it("counts the pods of a replica that knows an earlier generation as pending", () => {
    const { status } = statusOf(RESOURCE, reportsOf([knownOf(), knownOf({ generation: 2 })]), NOW_MS, undefined);
    expect(status.pods).toMatchObject({ total: 2, accepted: 1, pending: 1, summary: "1/2" });
  });

  it("names silent replicas, and the field of a problem", () => {
    const silent = statusOf(RESOURCE, reportsOf([], { silent: ["cp-1", "cp-0"] }), NOW_MS, undefined).status;
    expect(silent.conditions?.[1]?.message).toBe("The replicas cp-0, cp-1 of the control plane do not answer");
    const invalid = statusOf(INVALID, reportsOf([]), NOW_MS, undefined).status;
    expect(invalid.conditions?.[0]?.message).toBe("spec.domain: must not be empty");
    expect(invalid.problems).toEqual([{ field: "spec.domain", message: "must not be empty" }]);
  });

  it("does not claim that no pod enforces refused rules before every replica has reported on them", () => {
    const messageOf = (known: KnownResource): string | undefined =>
      statusOf(INVALID, reportsOf([known]), NOW_MS, undefined).status.conditions?.[1]?.message;
    expect(messageOf(knownOf({ generation: 2 }))).toBe("The rules are not accepted");
    expect(messageOf(knownOf({ reason: "InvalidSpec", fleets: [] }))).toBe(
      "The rules are not accepted: no pod enforces them",
    );
    expect(messageOf(knownOf({ reason: "InvalidSpec", servesLastGood: true }))).toBe(
      "The rules are not accepted: pods enforce an earlier revision of them",
    );
  });

  it("cuts texts between characters, so that the API server returns the status as it was written", () => {
    const rejected = [
      { pod: "web/a", message: "😀".repeat(20_000) },
      { pod: "web/b", message: `a${"😀".repeat(20_000)}` },
    ];
    const { status } = statusOf(
      RESOURCE,
      reportsOf([knownOf({ fleets: [fleetOf(0, { rejected })] })]),
      NOW_MS,
      undefined,
    );
    const texts = [...(status.rejections ?? []), ...(status.conditions ?? [])].map(({ message }) => message);
    expect(texts.filter((text) => !text.isWellFormed())).toEqual([]);
    expect(status.rejections?.every(({ message }) => message.endsWith("😀…"))).toBe(true);
  });

  it("keeps the time of a transition while the status of the condition stays", () => {
    const before = statusOf(RESOURCE, reportsOf([knownOf()]), NOW_MS, undefined).status;
    const later = statusOf(RESOURCE, reportsOf([knownOf({ fleets: [NACKED] })]), NOW_MS + 60_000, before).status;
    expect(later.conditions?.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ["Accepted", NOW],
      ["Programmed", "2026-01-31T12:01:00Z"],
      ["Ready", "2026-01-31T12:01:00Z"],
    ]);
  });

  it.each([
    { what: "nothing", reports: reportsOf([knownOf()]), awaits: undefined },
    { what: "replicas", reports: reportsOf([undefined]), awaits: "replicas" },
    { what: "pods", reports: reportsOf([knownOf({ fleets: [fleetOf(1, { pending: 1 })] })]), awaits: "pods" },
    {
      what: "pods, when one is not connected that has not enforced the rules yet",
      reports: reportsOf([knownOf()], { gaps: [{ name: "*", missing: 1, unknown: 0 }] }),
      awaits: "pods",
    },
    { what: "nothing of a silent replica", reports: reportsOf([undefined], { silent: ["x"] }), awaits: undefined },
  ])("awaits $what", ({ reports, awaits }) => {
    expect(statusOf(RESOURCE, reports, NOW_MS, undefined).awaits).toBe(awaits);
  });

  it.each([
    { what: "connections, when a pod is not connected", generation: 3, more: {}, awaits: "connections" },
    { what: "pods after an edit", generation: 4, more: {}, awaits: "pods" },
    { what: "pods, when another has not answered", generation: 3, more: { pending: 1 }, awaits: "pods" },
    { what: "pods, when another has NACKed", generation: 3, more: { rejected: NACKED.rejected }, awaits: "pods" },
  ])("awaits $what, of rules that all pods enforced", ({ generation, more, awaits }) => {
    const { status } = statusOf(RESOURCE, reportsOf([knownOf()]), NOW_MS, undefined);
    const reports = reportsOf([knownOf({ generation, fleets: [fleetOf(1, more)] })], {
      gaps: [{ name: "*", missing: 1, unknown: 0 }],
    });
    expect(statusOf({ ...RESOURCE, generation }, reports, NOW_MS, status).awaits).toBe(awaits);
  });
});
