// The status of a RateLimitConfig, from the resource and the reports of all control plane replicas. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { cutText } from "@weir/common/text/cut-text";
import {
  FIELD_LENGTH_MAX,
  FLEETS_MAX,
  MESSAGE_LENGTH_MAX,
  PROBLEMS_MAX,
  type RateLimitConfigStatus,
  REJECTIONS_MAX,
  type StatusCondition,
} from "@weir/crds/rate-limit-config/schema/status-schema";

import type { KnownResource, ResourceReports } from "../reports/merged-reports.ts";
import { findConditions } from "./conditions.ts";
import type { ObservedResource } from "./observed-resource.ts";
import { countPods, type FleetCounts, type PodTotals } from "./pod-counts.ts";

/** A status, and whether it will last. */
export interface ComputedStatus {
  readonly status: RateLimitConfigStatus;
  /**
   * The answers that the status waits for, which come within moments as a rule: reports of replicas, answers of
   * pods, or connections of pods that have enforced just these rules already. undefined: none.
   */
  readonly awaits: "replicas" | "pods" | "connections" | undefined;
}

/** Computes the status; `previous` is the one that the resource has, which gives the times of conditions. */
export function statusOf(
  resource: ObservedResource,
  reports: ResourceReports,
  nowMs: number,
  previous: RateLimitConfigStatus | undefined,
): ComputedStatus {
  const current = reports.replicas.map(({ name, known }) => ({ name, known, isCurrent: isCurrent(known, resource) }));
  const view = {
    silent: reports.silent.toSorted(compareCodeUnits),
    behind: [...current.filter((each) => !each.isCurrent).map(({ name }) => name), ...reports.awaited].toSorted(
      compareCodeUnits,
    ),
    hasAnswer: reports.replicas.length > 0,
    known: current.flatMap(({ known, isCurrent: counts }) => (counts && known !== undefined ? known : [])),
  };
  const outdated = current.flatMap(({ known, isCurrent: counts }) =>
    counts || known?.uid !== resource.uid ? [] : known,
  );
  const counts = countPods({ known: view.known, outdated, gaps: reports.gaps }, resource.fleets);
  const { conditions, problems } = findConditions(resource, view, counts);
  const isAccepted = conditions.Accepted.status !== "False";
  const status: RateLimitConfigStatus = {
    observedGeneration: resource.generation,
    conditions: Object.entries(conditions).map(([type, found]) =>
      stamp({ type, ...found, observedGeneration: resource.generation }, nowMs, previous),
    ),
    ...(resource.domain !== undefined && { domain: resource.domain }),
    ...(view.known.length > 0 && { servesLastGood: view.known.some(({ servesLastGood }) => servesLastGood) }),
    ...(resource.shadowMode && { shadowMode: true }),
    // Rules that are not accepted are sent to no pod.
    ...(view.hasAnswer && { pods: isAccepted ? withSummary(counts.all) : withSummary(NO_PODS) }),
    ...(isAccepted && counts.fleets.length > 0 && { fleets: counts.fleets.slice(0, FLEETS_MAX).map(withoutNone) }),
    ...(problems.length > 0 && {
      problems: problems.slice(0, PROBLEMS_MAX).map(({ field, message }) => ({
        field: cutText(field, FIELD_LENGTH_MAX),
        message: cutText(message, MESSAGE_LENGTH_MAX),
      })),
    }),
    ...(isAccepted &&
      counts.rejections.length > 0 && {
        rejections: counts.rejections
          .slice(0, REJECTIONS_MAX)
          .map(({ pod, message }) => ({ pod, message: cutText(message, MESSAGE_LENGTH_MAX) })),
      }),
  };
  const awaits = view.silent.length > 0 ? undefined : view.behind.length > 0 ? "replicas" : undefined;
  return { status, awaits: awaits ?? (isAccepted ? awaitedOf(counts, isProgrammed(previous, resource)) : undefined) };
}

function awaitedOf({ all, missing }: PodTotals, wasProgrammed: boolean): ComputedStatus["awaits"] {
  if (all.pending === 0) return undefined;
  // Pods keep their rules without a connection, and connect again.
  return wasProgrammed && missing === all.pending && all.rejected === 0 ? "connections" : "pods";
}

/** Returns true if all pods enforced the present rules when the status was written. */
function isProgrammed(status: RateLimitConfigStatus | undefined, { generation }: ObservedResource): boolean {
  const programmed = status?.conditions?.find(({ type }) => type === "Programmed");
  return programmed?.status === "True" && programmed.observedGeneration === generation;
}

function withoutNone({ unknown, ...fleet }: FleetCounts) {
  return unknown === 0 ? fleet : { ...fleet, unknown };
}

const NO_PODS = { total: 0, accepted: 0, rejected: 0, pending: 0 } as const;

/** Returns true if a replica has read just this generation; of resources that are too many it knows only the name. */
function isCurrent(known: KnownResource | undefined, { uid, generation }: ObservedResource): boolean {
  if (known === undefined) return false;
  return known.uid === "" ? known.reason !== "" : known.uid === uid && known.generation === generation;
}

function withSummary(counts: typeof NO_PODS | ReturnType<typeof countPods>["all"]) {
  return { ...counts, summary: `${counts.accepted}/${counts.total}` };
}

/** The time of the transition stays while the status of a condition does. */
function stamp(
  found: Omit<StatusCondition, "lastTransitionTime">,
  nowMs: number,
  previous: RateLimitConfigStatus | undefined,
): StatusCondition {
  const before = previous?.conditions?.find(({ type }) => type === found.type);
  const isSame = before?.status === found.status;
  // Kubernetes counts whole seconds here.
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  return { ...found, lastTransitionTime: isSame ? before.lastTransitionTime : now };
}
