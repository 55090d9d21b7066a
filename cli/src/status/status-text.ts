// Prints statuses for people: one resource in full, or a table. Pure.
import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { printable } from "../command-line/printable.ts";
import { tableText } from "../command-line/table.ts";
import { isStale, type ResourceStatus } from "./resource-status.ts";

/** Fields of a status that have a part of their own below. */
const OWN_PARTS = new Set(["conditions", "fleets", "problems", "rejections", "pods", "observedGeneration"]);

/** Everything about one resource. */
export function statusText(resource: ResourceStatus): string {
  const { status } = resource;
  const parts = [
    heading(resource),
    conditionTable(resource),
    facts(resource),
    fleetTable(status),
    section(
      "PROBLEMS",
      mappingsOf(status["problems"]).map(({ field, message }) => pair(field, message)),
    ),
    section(
      "REJECTED BY",
      mappingsOf(status["rejections"]).map(({ pod, message }) => pair(pod, message)),
    ),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** A table of resources in their order; namespaces only when there may be several. */
export function statusTable(resources: readonly ResourceStatus[], allNamespaces: boolean): string {
  const rows = resources.map((resource) => [
    ...(allNamespaces ? [resource.namespace] : []),
    nameOf(resource),
    resource.ready,
    resource.reason === "" ? "-" : resource.reason,
    podsOf(resource.status),
    resource.message === "" ? "-" : resource.message,
  ]);
  return `${tableText([...(allNamespaces ? ["NAMESPACE"] : []), "NAME", "READY", "REASON", "PODS", "MESSAGE"], rows)}\n`;
}

/** As kubectl names it. */
function nameOf({ kind, name }: ResourceStatus): string {
  return `${kind.shortName}/${name}`;
}

function heading({ kind, namespace, name, generation, isDeleting, ready, reason, message }: ResourceStatus): string {
  const marks = [...(generation === undefined ? [] : [`generation ${generation}`]), ...(isDeleting ? ["deleted"] : [])];
  const state = { True: "ready", False: "not ready", Unknown: "unknown" }[ready];
  return [
    `${kind.kind} ${namespace}/${name}${marks.length === 0 ? "" : ` (${marks.join(", ")})`}`,
    `${state}: ${[reason, message].filter((text) => text !== "").join(": ")}`,
  ]
    .map(printable)
    .join("\n");
}

function conditionTable({ conditions, generation }: ResourceStatus): string {
  const rows = conditions.map((condition) => [
    condition.type,
    condition.status,
    condition.reason,
    condition.since === "" ? "-" : condition.since,
    isStale(condition, generation)
      ? `(generation ${condition.observedGeneration}) ${condition.message}`
      : condition.message,
  ]);
  return tableText(["CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"], rows);
}

/** The counts of pods, and the plain values of the status, one a line. */
function facts({ status }: ResourceStatus): string {
  const pods = fieldsOf(status["pods"]);
  const counts = ["accepted", "rejected", "pending", "total"].filter((name) => typeof pods[name] === "number");
  const podFact = counts.map((name) => `${String(pods[name])} ${name}`).join(", ");
  const plain = Object.entries(status).filter(
    ([name, value]) => !OWN_PARTS.has(name) && ["string", "number", "boolean"].includes(typeof value),
  );
  const rows = [
    ...(podFact === "" ? [] : [["pods", podFact]]),
    ...plain.filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]),
  ];
  // The first row has the place of the heads, which this part has none of.
  const [first, ...rest] = rows;
  return first === undefined ? "" : tableText(first, rest.length === 0 ? [[]] : rest).trimEnd();
}

function fleetTable(status: Mapping): string {
  const rows = mappingsOf(status["fleets"]).map((fleet) => [
    textOf(fleet["name"]) ?? "-",
    ...["accepted", "rejected", "pending", "total"].map((name) => numberText(fleet[name])),
    textOf(fleet["version"])?.slice(0, 12) ?? "-",
  ]);
  return tableText(["FLEET", "ACCEPTED", "REJECTED", "PENDING", "TOTAL", "VERSION"], rows);
}

function podsOf(status: Mapping): string {
  const summary = textOf(fieldsOf(status["pods"])["summary"]);
  if (summary !== undefined) return summary;
  const { readyReplicas, replicas } = status;
  return typeof replicas === "number" ? `${numberText(readyReplicas)}/${replicas}` : "-";
}

function numberText(value: unknown): string {
  return typeof value === "number" ? String(value) : "0";
}

function pair(key: unknown, message: unknown): string {
  return [textOf(key), textOf(message)].filter((text) => text !== undefined).join(": ");
}

function section(head: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [head, ...lines.map((line) => `  ${printable(line)}`)].join("\n");
}
