// The program behind `make bench-account`: measures speed and memory of the account service, and prints
// each figure with its bar. docs/account.md has its results.
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { E2eError } from "../../errors.ts";
import { describeMachine } from "../machine.ts";
import { formatTable } from "../summary.ts";
import { type AccountMeasure, type Figure, MEASURES } from "./measures.ts";
import { ServiceStarter } from "./service.ts";

runProgram(
  {
    name: "make bench-account",
    summary: "Measures how many calls the account service answers, how fast, and what memory it takes.",
    usage: `[${MEASURES.map(({ id }) => id).join("|")}]...`,
  },
  benchAccount,
);

async function benchAccount(context: ProgramContext): Promise<number> {
  const chosen = choose(context.args);
  const folder = makeTemporaryFolder();
  process.on("exit", () => folder.remove());
  const stops: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  };
  let interruption: Promise<void> | undefined;
  const interrupt = (): void => {
    interruption = stopAll().finally(() => process.exit(130));
  };
  context.signal.addEventListener("abort", interrupt, { once: true });
  context.stdout(`${describeMachine()}\n\n`);
  const figures: Figure[] = [];
  try {
    const starter = new ServiceStarter(folder.path, (stop) => void stops.push(stop));
    for (const { id, run } of chosen) {
      context.stderr(`${id} …\n`);
      const measured = await run(starter);
      figures.push(...measured);
      for (const figure of measured) context.stderr(`  ${cellsOf(figure).join("  ")}\n`);
    }
  } catch (error) {
    await interruption; // A failure caused by the stop must not end the process before all is stopped.
    throw error;
  } finally {
    // What was measured before a failure is worth reading, also when something cannot be stopped.
    if (figures.length > 0)
      context.stdout(`${formatTable(["Measure", "Bar", "Measured", "Result"], figures.map(cellsOf))}\n`);
    await stopAll();
  }
  return 0;
}

function choose(ids: readonly string[]): readonly AccountMeasure[] {
  for (const id of ids) {
    if (MEASURES.some((measure) => measure.id === id)) continue;
    throw new E2eError(
      "BENCHMARK_FAILED",
      `Cannot measure '${id}': there are ${MEASURES.map((measure) => measure.id).join(", ")}; without a name all are measured`,
    );
  }
  return ids.length === 0 ? MEASURES : MEASURES.filter(({ id }) => ids.includes(id));
}

function cellsOf({ what, bar, value, unit }: Figure): readonly string[] {
  const text = (number: number): string => `${Number(number.toPrecision(3))} ${unit}`;
  if (bar === undefined) return [what, "", text(value), ""];
  const isMet = bar.kind === "least" ? value >= bar.value : value <= bar.value;
  return [what, `${bar.kind === "least" ? "≥" : "≤"} ${text(bar.value)}`, text(value), isMet ? "PASS" : "MISS"];
}
