import type { RateLimitConfigStatus } from "@weir/crds/rate-limit-config/schema/status-schema";
import { describe, expect, it } from "vitest";

import { transitions } from "./transitions.ts";

const NOW = "2026-01-31T12:00:00Z";

/** A status with these conditions, written `True Valid`. */
function statusWith(accepted: string, programmed: string, servesLastGood = false): RateLimitConfigStatus {
  const conditions = Object.entries({ Accepted: accepted, Programmed: programmed }).map(([type, text]) => {
    const [status = "", reason = ""] = text.split(" ");
    return { type, status: status as "True", reason, message: "why", lastTransitionTime: NOW };
  });
  return { conditions, servesLastGood };
}

const GOOD = statusWith("True Valid", "True Programmed");

describe("transitions()", () => {
  it.each<{ what: string; before?: RateLimitConfigStatus; after: RateLimitConfigStatus; reasons: string[] }>([
    { what: "a first status", after: GOOD, reasons: ["Accepted", "Programmed"] },
    { what: "the same status", before: GOOD, after: GOOD, reasons: [] },
    {
      what: "invalid rules",
      before: GOOD,
      after: statusWith("False InvalidSpec", "False NotAccepted", true),
      reasons: ["InvalidSpec", "ServingLastGood"],
    },
    {
      what: "another refusal",
      before: statusWith("False InvalidSpec", "False NotAccepted"),
      after: statusWith("False DomainConflict", "False NotAccepted"),
      reasons: ["DomainConflict"],
    },
    {
      what: "a NACK",
      before: GOOD,
      after: statusWith("True Valid", "False RejectedByDataPlane"),
      reasons: ["RejectedByDataPlane"],
    },
    {
      what: "the end of a NACK",
      before: statusWith("True Valid", "False RejectedByDataPlane"),
      after: GOOD,
      reasons: ["Programmed"],
    },
    {
      what: "rules in shadow mode",
      before: GOOD,
      after: { ...GOOD, shadowMode: true },
      reasons: ["ShadowModeOn"],
    },
    {
      what: "rules that stay in shadow mode",
      before: { ...GOOD, shadowMode: true },
      after: { ...GOOD, shadowMode: true },
      reasons: [],
    },
    {
      what: "the end of shadow mode",
      before: { ...GOOD, shadowMode: true },
      after: GOOD,
      reasons: ["ShadowModeOff"],
    },
    { what: "silence", before: GOOD, after: statusWith("Unknown ReplicaSilent", "Unknown ReplicaSilent"), reasons: [] },
    {
      what: "the end of silence",
      before: statusWith("Unknown ReplicaSilent", "Unknown ReplicaSilent"),
      after: GOOD,
      reasons: [],
    },
  ])("has the events $reasons for $what", ({ before, after, reasons }) => {
    expect(transitions(before, after).map(({ reason }) => reason)).toEqual(reasons);
  });
});
