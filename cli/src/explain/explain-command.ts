// The command `weir explain`: reads rules, follows a request through them and prints how a rate limit
// pod would limit it.
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { explainRequest } from "@weir/limits/explain/explain";
import type { PodCounts } from "@weir/proto/generated/weir/console/v1/console_pb";

import type { CheckedFiles } from "../check/check-files.ts";
import type { InputStream } from "../check/input-files.ts";
import { readRules } from "../check/read-rules.ts";
import { formatWarning } from "../check/report.ts";
import { EXIT_OK, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import type { ClusterRulesChoice } from "../cluster/rules-choice.ts";
import { type ExplainArguments, parseExplainArguments } from "./arguments.ts";
import { findDomain } from "./configured-domain.ts";
import { explainJson } from "./explain-json.ts";
import { explainText } from "./explain-text.ts";

/** The parts of its program that the command uses. */
export interface ExplainContext extends Pick<ProgramContext, "stdout" | "stderr" | "signal" | "env"> {
  readonly usesCluster?: boolean;
}

/** The rules that a request is explained with. */
type Rules = Pick<CheckedFiles, "resources" | "rules">;

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runExplain(
  context: ExplainContext,
  args: readonly string[],
  from: { readonly stdin: () => InputStream; readonly nowMs: () => number } = {
    stdin: () => process.stdin,
    nowMs: Date.now,
  },
): Promise<number> {
  const parsed = parseExplainArguments(args, from.nowMs(), { usesCluster: context.usesCluster });
  if (typeof parsed === "string") return wrong(context, parsed);
  const rules =
    parsed.from.kind === "files"
      ? await readRules(context, "weir explain", parsed.from.paths, { ...parsed, stdin: from.stdin })
      : await readCluster(context, parsed.from, parsed.domain);
  if (typeof rules === "number") return rules;
  const domain = findDomain(rules, parsed);
  if (typeof domain === "string") return wrong(context, domain);
  const explained = explainRequest(domain.domain, domain.rules, parsed);
  const counts = await findCounts(context, parsed, domain.domain);
  const found = typeof counts === "string" ? undefined : counts;
  context.stdout(
    parsed.format === "json" ? explainJson(domain, explained, found) : explainText(domain, explained, found),
  );
  if (typeof counts !== "string") return EXIT_OK;
  context.stderr(`weir explain: no counts: ${printable(counts)}\n`);
  return EXIT_USAGE;
}

/** The present counts if they are wanted; a text says why there are none. */
async function findCounts(
  context: ExplainContext,
  { counts, fleet = "", descriptors }: ExplainArguments,
  domain: string,
): Promise<PodCounts | string | undefined> {
  if (counts === undefined) return undefined;
  // Loaded when it is used: it brings a client of the control plane.
  const { readCounts } = await import("./read-counts.ts");
  try {
    return await readCounts(context, counts, { fleet, domain, descriptors });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return describeError(error);
  }
}

/** The rules of a cluster; the exit code when it does not answer. Warns of what concerns the domain. */
async function readCluster(
  context: ExplainContext,
  choice: ClusterRulesChoice,
  domain: string,
): Promise<Rules | number> {
  // Loaded when it is used: it brings the client of the API server.
  const { readClusterRules } = await import("../check/cluster-rules.ts");
  try {
    const { resources, warnings } = await readClusterRules(choice, context);
    const concerning = warnings.filter((warning) => domain === "" || warning.domain === domain);
    context.stderr(concerning.map((warning) => `${formatWarning(warning)}\n`).join(""));
    return { resources, rules: [] };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.stderr(`weir explain: ${printable(describeError(error))}\n`);
    return EXIT_USAGE;
  }
}

function wrong(context: Pick<ProgramContext, "stderr">, message: string): number {
  context.stderr(`weir explain: ${message}; run 'weir explain --help' for usage\n`);
  return EXIT_USAGE;
}
