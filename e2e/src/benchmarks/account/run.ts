// The program behind `make bench-account`: measures speed and memory of the account service, and prints
// each figure with its bar. docs/account.md has its results.
import { runProgram } from "@weir/common/lifecycle/program";
import { chooseMeasures, runMeasures, usageOf } from "../run-measures.ts";
import { type Figure, MEASURES } from "./measures.ts";
import { ServiceStarter } from "./service.ts";

runProgram(
  {
    name: "make bench-account",
    summary: "Measures how many calls the account service answers, how fast, and what memory it takes.",
    usage: usageOf(MEASURES),
  },
  (context) =>
    runMeasures(context, {
      measures: chooseMeasures(MEASURES, context.args),
      header: ["Measure", "Bar", "Measured", "Result"],
      begin: ({ folder, onStarted }) => {
        const starter = new ServiceStarter(folder, onStarted);
        return Promise.resolve(async ({ run }) => (await run(starter)).map((figure) => cellsOf(figure)));
      },
    }),
);

function cellsOf({ what, bar, value, unit }: Figure): readonly string[] {
  const text = (number: number): string => `${Number(number.toPrecision(3))} ${unit}`;
  if (bar === undefined) return [what, "", text(value), ""];
  const isMet = bar.kind === "least" ? value >= bar.value : value <= bar.value;
  return [what, `${bar.kind === "least" ? "≥" : "≤"} ${text(bar.value)}`, text(value), isMet ? "PASS" : "MISS"];
}
