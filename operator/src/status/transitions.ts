// The events of a status that replaces another one: only what has changed, so that an operator that starts
// again repeats nothing. Pure.
import type { RateLimitConfigStatus, StatusCondition } from "@weir/crds/rate-limit-config/schema/status-schema";

import type { EventText } from "../events/event-recorder.ts";

/** Reasons of conditions that say nothing of the rules: what follows them is no news about the rules. */
const OUTAGES: ReadonlySet<string> = new Set(["ReplicaSilent", "NoControlPlane"]);

/** The events of a transition; `before` is undefined for a resource without a status. */
export function transitions(before: RateLimitConfigStatus | undefined, after: RateLimitConfigStatus): EventText[] {
  return [
    ...acceptedEvents(before, after),
    ...programmedEvents(before, after),
    ...lastGoodEvents(before, after),
    ...shadowEvents(before, after),
  ];
}

function acceptedEvents(before: RateLimitConfigStatus | undefined, after: RateLimitConfigStatus): EventText[] {
  const [was, is] = [conditionOf(before, "Accepted"), conditionOf(after, "Accepted")];
  if (is === undefined || isSame(was, is)) return [];
  const { reason, message: note } = is;
  if (is.status === "True") return [{ type: "Normal", reason: "Accepted", action: "Validate", note }];
  return is.status === "False" ? [{ type: "Warning", reason, action: "Validate", note }] : [];
}

function programmedEvents(before: RateLimitConfigStatus | undefined, after: RateLimitConfigStatus): EventText[] {
  const [was, is] = [conditionOf(before, "Programmed"), conditionOf(after, "Programmed")];
  if (is === undefined || isSame(was, is)) return [];
  const { reason, message: note } = is;
  if (is.status === "True") return [{ type: "Normal", reason: "Programmed", action: "Program", note }];
  return reason === "RejectedByDataPlane" ? [{ type: "Warning", reason, action: "Program", note }] : [];
}

function lastGoodEvents(before: RateLimitConfigStatus | undefined, after: RateLimitConfigStatus): EventText[] {
  if (after.servesLastGood !== true || before?.servesLastGood === true) return [];
  const note = "An earlier revision of the rules is enforced, because the present one was rejected";
  return [{ type: "Warning", reason: "ServingLastGood", action: "Program", note }];
}

function shadowEvents(before: RateLimitConfigStatus | undefined, after: RateLimitConfigStatus): EventText[] {
  const [was, is] = [before?.shadowMode === true, after.shadowMode === true];
  if (was === is) return [];
  return [
    is
      ? {
          type: "Warning",
          reason: "ShadowModeOn",
          action: "Switch",
          note: "No rule limits any more: spec.shadowMode is true",
        }
      : {
          type: "Normal",
          reason: "ShadowModeOff",
          action: "Switch",
          note: "The rules limit again: spec.shadowMode is not true",
        },
  ];
}

function conditionOf(status: RateLimitConfigStatus | undefined, type: string): StatusCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function isSame(was: StatusCondition | undefined, is: StatusCondition): boolean {
  if (was === undefined) return false;
  if (was.status === "Unknown" && is.status === "True") return OUTAGES.has(was.reason);
  return was.status === is.status && was.reason === is.reason;
}
