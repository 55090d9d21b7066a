// The conditions of a RateLimitConfig. Accepted: its rules are valid and own their domain. Programmed: the
// pods enforce them. Ready: both. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { cutText } from "@weir/common/text/cut-text";

import type { KnownResource } from "../reports/merged-reports.ts";
import type { ObservedResource, StatusProblem } from "./observed-resource.ts";
import type { PodTotals } from "./pod-counts.ts";

/** Most names in a message. */
const NAMES_MAX = 10;

/** Longest part of a message that is quoted from a problem or a NACK, in bytes. */
const QUOTE_MAX_BYTES = 1024;

/** The status of a condition, with its reason and message. */
export interface Finding {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** The reports of the replicas on the present generation. */
export interface ReplicaView {
  /** Names of replicas that should answer and do not. */
  readonly silent: readonly string[];
  /** Names of replicas that have not read the present generation. */
  readonly behind: readonly string[];
  readonly hasAnswer: boolean;
  /** The resource as each of the others knows it. */
  readonly known: readonly KnownResource[];
}

/** The conditions, in the order in which they are written. */
export type Conditions = Readonly<Record<"Accepted" | "Programmed" | "Ready", Finding>>;

/** Finds the conditions, and the problems of rules that are not accepted. */
export function findConditions(
  resource: ObservedResource,
  view: ReplicaView,
  pods: PodTotals,
): { readonly conditions: Conditions; readonly problems: readonly StatusProblem[] } {
  const refusal = refusalOf(resource, view);
  const unknown = unknownBecause(resource, view);
  // Silence hides what a refusal by another replica means; what the validator finds, it does not.
  const isRefused = refusal !== undefined && (refusal.isLocal || (view.silent.length === 0 && view.hasAnswer));
  const accepted: Finding = isRefused
    ? { status: "False", reason: refusal.reason, message: messageOf(refusal.problems) }
    : (unknown ?? { status: "True", reason: "Valid", message: "The rules are valid and own their domain" });
  const programmed = programmedOf(view, pods, { unknown, isRefused });
  const failing = [accepted, programmed].find(({ status }) => status !== "True");
  const ready = failing ?? { status: "True", reason: "Ready", message: programmed.message };
  return {
    conditions: { Accepted: accepted, Programmed: programmed, Ready: ready },
    problems: isRefused ? refusal.problems : [],
  };
}

interface RuleRefusal {
  readonly reason: string;
  readonly problems: readonly StatusProblem[];
  readonly isLocal: boolean;
}

/** Why the present rules are not served, by the validator or any replica. */
function refusalOf({ problems }: ObservedResource, { known }: ReplicaView): RuleRefusal | undefined {
  if (problems.length > 0) return { reason: "InvalidSpec", problems, isLocal: true };
  const refusing = known.filter(({ reason }) => reason !== "");
  const [first] = refusing.toSorted(
    (left, right) =>
      compareCodeUnits(left.reason, right.reason) ||
      compareCodeUnits(JSON.stringify(left.problems), JSON.stringify(right.problems)),
  );
  return first && { reason: first.reason, problems: first.problems, isLocal: false };
}

/** Why nothing can be said yet, or any more. */
function unknownBecause({ generation }: ObservedResource, view: ReplicaView): Finding | undefined {
  const { silent, behind, hasAnswer } = view;
  if (silent.length > 0) {
    const message = `${replicas(silent)} of the control plane ${silent.length === 1 ? "does" : "do"} not answer`;
    return { status: "Unknown", reason: "ReplicaSilent", message };
  }
  if (behind.length > 0) {
    const message = `${replicas(behind)} of the control plane ${behind.length === 1 ? "has" : "have"} not reported generation ${generation} yet`;
    return { status: "Unknown", reason: "Pending", message };
  }
  if (hasAnswer) return undefined;
  return { status: "Unknown", reason: "NoControlPlane", message: "No replica of the control plane is ready" };
}

function programmedOf(
  { silent, behind, hasAnswer, known }: ReplicaView,
  { all, fleets, missing, rejections }: PodTotals,
  { unknown, isRefused }: { readonly unknown: Finding | undefined; readonly isRefused: boolean },
): Finding {
  if (unknown !== undefined && (!isRefused || silent.length > 0 || !hasAnswer)) return unknown;
  if (isRefused) {
    const meanwhile = known.some(({ servesLastGood }) => servesLastGood)
      ? ": pods enforce an earlier revision of them"
      : behind.length > 0
        ? ""
        : ": no pod enforces them";
    return { status: "False", reason: "NotAccepted", message: `The rules are not accepted${meanwhile}` };
  }
  const { total, accepted, rejected } = all;
  if (total === 0) {
    const names = fleets.map(({ name }) => name).filter((name) => name !== "*");
    const where = names.length === 0 ? "" : ` in ${names.length === 1 ? "fleet" : "the fleets"} ${listed(names)}`;
    return { status: "False", reason: "NoDataPlane", message: `No pod is connected${where}` };
  }
  const counted = `${accepted} of ${total} ${total === 1 ? "pod" : "pods"}`;
  const [first] = rejections;
  if (first !== undefined) {
    const others = rejected === 1 ? "" : `, and ${rejected - 1} more`;
    const message = `${counted} enforce the rules, ${first.pod} rejected them: ${quote(first.message)}${others}`;
    return { status: "False", reason: "RejectedByDataPlane", message };
  }
  if (accepted < total) {
    const reason = accepted === 0 ? "Pending" : "PartiallyProgrammed";
    const lacking = [
      ...(missing === 0
        ? []
        : [missing === 1 ? "1 ready pod is not connected" : `${missing} ready pods are not connected`]),
      ...(accepted + missing < total ? ["the others have not answered yet"] : []),
    ];
    return { status: "False", reason, message: `${counted} enforce the rules, ${lacking.join(", ")}` };
  }
  const without = fleets.filter((fleet) => fleet.total === 0 && fleet.name !== "*").map(({ name }) => name);
  const lacking = without.length === 0 ? "" : `; no pod is connected in ${listed(without)}`;
  return { status: "True", reason: "Programmed", message: `All connected pods enforce the rules${lacking}` };
}

function messageOf(problems: readonly StatusProblem[]): string {
  const [first] = problems;
  if (first === undefined) return "The control plane does not accept the rules";
  const text = first.field === "" ? first.message : `${first.field}: ${first.message}`;
  return problems.length === 1 ? quote(text) : `${quote(text)} (and ${problems.length - 1} more, see problems)`;
}

function replicas(names: readonly string[]): string {
  return `${names.length === 1 ? "Replica" : "The replicas"} ${listed(names)}`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(", ");
  return names.length > NAMES_MAX ? `${shown} and ${names.length - NAMES_MAX} more` : shown;
}

function quote(text: string): string {
  return cutText(text, QUOTE_MAX_BYTES);
}
