// The program behind `make bench-operator`: measures how fast statuses are right and how often they are
// written, and prints each figure with its bar. docs/status.md has its results.
import { join } from "node:path";

import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { ensureCertificates } from "@weir/dev/setup/certificates";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";

import { E2eError } from "../../errors.ts";
import { describeMachine } from "../machine.ts";
import { formatTable } from "../summary.ts";
import { SERVICE, startFixture } from "./fixture.ts";
import { machineAddress } from "../../parts/machine-address.ts";
import { type Figure, MEASURES, type OperatorMeasure } from "./measures.ts";

runProgram(
  {
    name: "make bench-operator",
    summary: "Measures how fast the operator's statuses are right, and how often they are written.",
    usage: `[${MEASURES.map(({ id }) => id).join("|")}]...`,
  },
  benchOperator,
);

async function benchOperator(context: ProgramContext): Promise<number> {
  const chosen = choose(context.args);
  const address = machineAddress();
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
  const certificates = await ensureCertificates(join(folder.path, "certificates"), {
    hostNames: ["localhost", address, `${SERVICE}.weir-system.svc`],
    now: new Date(),
  });
  context.stdout(`${describeMachine()}\n\n`);
  const figures: Figure[] = [];
  try {
    const onStarted = (stop: () => Promise<void>): void => void stops.push(stop);
    const fixture = await startFixture({ folder: folder.path, certificates, address, onStarted });
    for (const { id, run } of chosen) {
      context.stderr(`${id} …\n`);
      const measured = await run(fixture);
      figures.push(...measured);
      for (const figure of measured) context.stderr(`  ${cellsOf(figure).join("  ")}\n`);
    }
  } catch (error) {
    await interruption; // A failure caused by the stop must not end the process before all is stopped.
    throw error;
  } finally {
    // What was measured before a failure is worth reading, also when something cannot be stopped.
    if (figures.length > 0)
      context.stdout(
        `${formatTable(
          ["Measure", "Bar", "Measured", "Result"],
          figures.map((figure) => cellsOf(figure)),
        )}\n`,
      );
    await stopAll();
  }
  return 0;
}

/** The measures of these names, in their order; the first one always, because the others begin where it ends. */
function choose(ids: readonly string[]): readonly OperatorMeasure[] {
  for (const id of ids) {
    if (MEASURES.some((measure) => measure.id === id)) continue;
    throw new E2eError(
      "BENCHMARK_FAILED",
      `Cannot measure '${id}': there are ${MEASURES.map((measure) => measure.id).join(", ")}; without a name all are measured`,
    );
  }
  return MEASURES.filter(({ id }, index) => ids.length === 0 || index === 0 || ids.includes(id));
}

function cellsOf({ what, bar, value, unit }: Figure): readonly string[] {
  const text = (number: number): string => `${Number(number.toFixed(2))} ${unit}`;
  if (bar === undefined) return [what, "", text(value), ""];
  return [what, `≤ ${text(bar)}`, text(value), value <= bar ? "PASS" : "MISS"];
}
