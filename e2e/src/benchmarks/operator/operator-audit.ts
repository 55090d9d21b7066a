// The writes of the operator as the API server has logged them: also those that changed nothing.
import { readFileSync, writeFileSync } from "node:fs";

/** The account of the operator. */
const USER = "system:serviceaccount:weir-system:weir-operator";

/** A write that the API server has answered. */
export interface OperatorWrite {
  /** Such as `ratelimitconfigs/status` or `leases`. */
  readonly resource: string;
  readonly name: string;
  readonly code: number;
}

/** Writes the policy, and returns the flags of an API server that logs the operator's writes to `logPath`. */
export function operatorAuditFlags(policyPath: string, logPath: string): readonly string[] {
  const rule = {
    level: "Metadata",
    users: [USER],
    verbs: ["create", "update", "patch", "delete"],
    omitStages: ["RequestReceived"],
  };
  const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [rule, { level: "None" }] };
  writeFileSync(policyPath, JSON.stringify(policy));
  return [`--audit-policy-file=${policyPath}`, `--audit-log-path=${logPath}`];
}

/** All writes so far, in the order in which they were answered. */
export function readOperatorWrites(logPath: string): readonly OperatorWrite[] {
  const lines = readFileSync(logPath, "utf8").split("\n").slice(0, -1); // The last one may be incomplete.
  return lines.map((line) => {
    const { objectRef, responseStatus } = JSON.parse(line) as AuditEvent;
    const { resource = "", subresource, name = "" } = objectRef ?? {};
    return {
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      name,
      code: responseStatus?.code ?? 0,
    };
  });
}

/** What is read of an event (audit.k8s.io/v1). */
interface AuditEvent {
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}
