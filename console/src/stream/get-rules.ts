// Asks a replica for the limit of a rule.
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { GetRulesResponseSchema, type RuleInfo } from "@weir/proto/generated/weir/console/v1/console_pb";

import type { RuleAddress } from "../route.ts";

/** Longest wait for the answer, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** The limit, in each resource that has it; fails with an Error when the replica does not answer. */
export async function getRules(base: string, { fleet, domain, path }: RuleAddress): Promise<readonly RuleInfo[]> {
  const answer = await fetch(`${base}/weir.console.v1.ConsoleService/GetRules`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
    body: JSON.stringify({ fleet, rules: [{ domain, path }] }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!answer.ok) throw new Error(`it answers with HTTP status ${answer.status}`);
  return fromJson(GetRulesResponseSchema, (await answer.json()) as JsonValue, { ignoreUnknownFields: true }).rules;
}
