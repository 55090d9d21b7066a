// The audit log of an API server: what the accounts of Weir asked for, and what the answer was.
import { readFileSync, writeFileSync } from "node:fs";

/** A request as the API server saw it. */
export interface AuditedRequest {
  /** Name of the service account. */
  readonly account: string;
  readonly verb: string;
  /** Such as `ratelimitconfigs/status`. */
  readonly resource: string;
  readonly name: string;
  readonly status: number;
  /** Milliseconds since the epoch, by the clock of the server. */
  readonly receivedMs: number;
  readonly completedMs: number;
}

const ACCOUNT = "system:serviceaccount:weir-system:";

const WRITE_VERBS: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Writes the policy, and returns the flags of an API server that logs every request of these accounts. */
export function auditFlags(
  accounts: readonly string[],
  { policyPath, logPath }: { readonly policyPath: string; readonly logPath: string },
): readonly string[] {
  const users = accounts.map((name) => ACCOUNT + name);
  const rule = { level: "Metadata", omitStages: ["RequestReceived"], users };
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [rule, { level: "None" }] };
  writeFileSync(policyPath, JSON.stringify(policy));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${logPath}`];
}

/** All requests so far that have an answer, in the order in which they came; a watch is one when it begins, and one when it ends. */
export function readAudit(logPath: string): readonly AuditedRequest[] {
  const lines = readFileSync(logPath, "utf8").split("\n").slice(0, -1); // The last one may be incomplete.
  return lines.map((line) => requestOf(JSON.parse(line) as AuditEvent)).toSorted((a, b) => a.receivedMs - b.receivedMs);
}

/** Whether it asks for a change, other than of a Lease. */
export function isWrite({ verb, resource }: AuditedRequest): boolean {
  return WRITE_VERBS.has(verb) && resource !== "leases";
}

/** What is read of an event (audit.k8s.io/v1). */
interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

function requestOf({ user, verb, objectRef, responseStatus, ...times }: AuditEvent): AuditedRequest {
  const { resource = "", subresource, name = "" } = objectRef ?? {};
  return {
    account: user.username.slice(ACCOUNT.length),
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    name,
    status: responseStatus?.code ?? 0,
    receivedMs: millisecondsOf(times.requestReceivedTimestamp),
    completedMs: millisecondsOf(times.stageTimestamp),
  };
}

/** With microseconds after the point, which Date drops. */
function millisecondsOf(time: string): number {
  return Date.parse(time) + Number(time.slice(-4, -1)) / 1000;
}
