// The gates of `make check` and how they run: two at a time, every one to its end. check.ts and
// test.ts print the results.
import { availableParallelism } from "node:os";
import { GENERATORS } from "../generate/generators.ts";
import type { CommandResult } from "../run-command.ts";
import { runCommand } from "../run-command.ts";

/** One rule set that the tree must pass. */
export interface Gate {
  readonly name: string;
  /** Ends with exit code 0 when the gate is passed, and otherwise says what is wrong. */
  readonly command: readonly string[];
}

export interface GateResult extends CommandResult {
  readonly gate: Gate;
}

/** The folder in which gates keep data that makes their next run quick. */
const CACHE = "node_modules/.cache/weir";

/** Most gates at a time: each wants a core, and the linter much memory. */
const CONCURRENCY_MAX = 2;

/** The build's tsconfig leads knip from what is built to the sources. */
export const KNIP = ["knip", "--no-config-hints", "--tsConfig", "tsconfig.build.json"] as const;

/** Every gate. The slow ones start first, so that the quick ones run next to them. */
export function listGates(options: { readonly cache: boolean }): readonly Gate[] {
  // The linter's memory is per file, while its rules look at the types of other files too: good for
  // the next minute at one's desk, not for the last word.
  const lintCache = options.cache ? ["--cache", "--cache-strategy=content", `--cache-location=${CACHE}/eslint`] : [];
  return [
    { name: "lint", command: ["eslint", "--max-warnings=0", ...lintCache, "."] },
    { name: "types", command: ["tsc", "-p", "tsconfig.json"] },
    // For a browser, not for Node.js.
    { name: "types-console", command: ["tsc", "-p", "console/tsconfig.json"] },
    { name: "types-account-page", command: ["tsc", "-p", "account/src/page/tsconfig.json"] },
    {
      name: "format",
      command: [
        "prettier",
        "--check",
        "--log-level=warn",
        "--cache",
        "--cache-strategy=content",
        `--cache-location=${CACHE}/prettier`,
        ".",
      ],
    },
    { name: "exports", command: KNIP },
    { name: "exports-tests", command: [...KNIP, "--production"] },
    ...["imports", "dependencies", "versions", "workflows"].map((name) => ({
      name,
      command: ["node", `tools/gates/check-${name}.ts`],
    })),
    { name: "openapi", command: ["node", "tools/gates/check-openapi.ts"] },
    ...GENERATORS.map((generator) => ({ name: `generated-${generator.name}`, command: generator.check })),
  ];
}

/** Runs all of `gates` and calls `report` as each ends. A failure stops none of the others. */
export async function runGates(
  gates: readonly Gate[],
  report: (result: GateResult) => void,
): Promise<readonly GateResult[]> {
  const waiting = [...gates];
  const results: GateResult[] = [];
  const work = async (): Promise<void> => {
    for (let gate = waiting.shift(); gate !== undefined; gate = waiting.shift()) {
      const result = { gate, ...(await runCommand(gate.command)) };
      results.push(result);
      report(result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY_MAX, availableParallelism()) }, work));
  return results;
}

/** One line for people: `ok    lint  20.3 s`, and below it, indented, what a failed gate said. */
export function formatGateResult({ gate, code, durationMs, output }: GateResult): string {
  const line = `${code === 0 ? "ok  " : "FAIL"}  ${gate.name.padEnd(20)} ${(durationMs / 1000).toFixed(1).padStart(5)} s`;
  return code === 0 ? line : `${line}\n${output.trimEnd().replaceAll(/^(?=.)/gm, "        ")}`;
}
