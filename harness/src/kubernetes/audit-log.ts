// The audit log of an API server: what the accounts of Weir asked for, and what the answer was.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A request as the API server saw it. Times are of its clock, in milliseconds since the epoch. */
export interface AuditedRequest {
  /** Name of the service account. */
  readonly account: string;
  readonly verb: string;
  /** Such as `ratelimitconfigs/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly status: number;
  /** Milliseconds since the epoch, by the clock of the server. */
  readonly receivedMs: number;
  readonly completedMs: number;
}

/** Namespace of the accounts whose requests are logged. */
const NAMESPACE = "weir-system";

const LOG_NAME = "audit.log";

const WRITE_VERBS: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Writes the policy into `folder`, and returns the flags of an API server that logs every request of the accounts there. */
export function auditFlags(folder: string): readonly string[] {
  const rule = {
    level: "Metadata",
    omitStages: ["RequestReceived"],
    userGroups: [`system:serviceaccounts:${NAMESPACE}`],
  };
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [rule, { level: "None" }] };
  const policyPath = join(folder, "audit-policy.json");
  writeFileSync(policyPath, JSON.stringify(policy));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${join(folder, LOG_NAME)}`];
}

/** All requests so far that have an answer, in the order in which they were received; a watch is one when it ends, too. */
export function readAudit(folder: string): readonly AuditedRequest[] {
  const lines = readFileSync(join(folder, LOG_NAME), "utf8").split("\n").slice(0, -1); // The last one may be incomplete.
  const requests = lines.map((line) => requestOf(JSON.parse(line) as AuditEvent));
  return requests.toSorted((one, other) => one.receivedMs - other.receivedMs);
}

/** Returns true if the request asks for a change, other than of a Lease. */
export function isWrite({ verb, resource }: AuditedRequest): boolean {
  return WRITE_VERBS.has(verb) && resource !== "leases";
}

/** The fields that are read of an event (audit.k8s.io/v1). */
interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: Readonly<Partial<Record<"resource" | "subresource" | "namespace" | "name", string>>>;
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

function requestOf({ user, verb, objectRef = {}, responseStatus, ...times }: AuditEvent): AuditedRequest {
  const { resource = "", subresource, namespace = "", name = "" } = objectRef;
  return {
    account: user.username.split(":").at(-1) ?? "",
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    status: responseStatus?.code ?? 0,
    receivedMs: microsecondsOf(times.requestReceivedTimestamp),
    completedMs: microsecondsOf(times.stageTimestamp),
  };
}

/** Milliseconds with microseconds after the point, which Date drops. */
function microsecondsOf(time: string): number {
  return Date.parse(time) + Number(time.slice(-4, -1)) / 1000;
}
