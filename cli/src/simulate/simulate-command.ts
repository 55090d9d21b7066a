// The command `weir simulate`: reads rules, plays requests against one limit and prints how many pass.
import type { ProgramContext } from "@weir/common/lifecycle/program";

import type { InputStream } from "../check/input-files.ts";
import { readRules } from "../check/read-rules.ts";
import { EXIT_OK, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import { findDomain } from "../explain/configured-domain.ts";
import { parseSimulateArguments } from "./arguments.ts";
import { simulate } from "./simulate.ts";
import { simulateJson } from "./simulate-json.ts";
import { simulateText } from "./simulate-text.ts";
import { counterOf, findLimit } from "./simulated-limit.ts";

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runSimulate(
  context: Pick<ProgramContext, "stdout" | "stderr">,
  args: readonly string[],
  stdin: () => InputStream = () => process.stdin,
): Promise<number> {
  const parsed = parseSimulateArguments(args);
  if (typeof parsed === "string") return wrong(context, parsed);
  const rules = await readRules(context, "weir simulate", parsed.paths, { ...parsed, stdin });
  if (typeof rules === "number") return rules;
  const domain = findDomain(rules, parsed);
  if (typeof domain === "string") return wrong(context, domain);
  const limit = findLimit(domain, { descriptor: parsed.descriptor, startMs: parsed.load.startMs });
  if (typeof limit === "string") return wrong(context, limit);
  const { load, format } = parsed;
  const result = simulate(load, counterOf(limit.rule, load.hits));
  context.stdout((format === "json" ? simulateJson : simulateText)(domain, limit, load, result));
  return EXIT_OK;
}

function wrong(context: Pick<ProgramContext, "stderr">, message: string): number {
  context.stderr(`weir simulate: ${printable(message)}; run 'weir simulate --help' for usage\n`);
  return EXIT_USAGE;
}
