// The audit log of an API server of a test: who wrote what, and when.
import { readFileSync, writeFileSync } from "node:fs";

/** A write as the API server saw it. Times are of its clock, in milliseconds since the epoch. */
export interface AuditedWrite {
  readonly user: string;
  readonly verb: string;
  /** Such as `leases`. */
  readonly resource: string;
  readonly status: number;
  readonly receivedMs: number;
  readonly completedMs: number;
}

/** Writes the policy, and returns the flags of an API server that logs all writes to `logPath`. */
export function auditFlags(policyPath: string, logPath: string): readonly string[] {
  const writes = { level: "Metadata", omitStages: ["RequestReceived"], verbs: ["create", "update", "patch", "delete"] };
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [writes, { level: "None" }] };
  writeFileSync(policyPath, JSON.stringify(policy));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${logPath}`];
}

/** All writes so far, in the order in which the server received them. */
export function readAudit(logPath: string): readonly AuditedWrite[] {
  const lines = readFileSync(logPath, "utf8").split("\n").slice(0, -1); // The last one may be incomplete.
  return lines.map((line) => writeOf(JSON.parse(line) as AuditEvent)).toSorted((a, b) => a.receivedMs - b.receivedMs);
}

/** What is read of an event (audit.k8s.io/v1). */
interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource: string };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
}

function writeOf(event: AuditEvent): AuditedWrite {
  return {
    user: event.user.username,
    verb: event.verb,
    resource: event.objectRef?.resource ?? "",
    status: event.responseStatus?.code ?? 0,
    receivedMs: microsecondsOf(event.requestReceivedTimestamp),
    completedMs: microsecondsOf(event.stageTimestamp),
  };
}

/** Milliseconds with microseconds after the point, which Date drops. */
function microsecondsOf(time: string): number {
  return Date.parse(time) + Number(time.slice(-4, -1)) / 1000;
}
