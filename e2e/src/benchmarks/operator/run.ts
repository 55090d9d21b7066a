// The program behind `make bench-operator`: measures how fast statuses are right and how often they are
// written, and prints each figure with its bar. docs/status.md has its results.
import { networkInterfaces } from "node:os";
import { join } from "node:path";

import { runProgram } from "@weir/common/lifecycle/program";
import { ensureCertificates } from "@weir/dev/setup/certificates";

import { E2eError } from "../../errors.ts";
import { chooseMeasures, runMeasures, usageOf } from "../run-measures.ts";
import { SERVICE, startFixture } from "./fixture.ts";
import { type Figure, MEASURES, type OperatorMeasure } from "./measures.ts";

runProgram(
  {
    name: "make bench-operator",
    summary: "Measures how fast the operator's statuses are right, and how often they are written.",
    usage: usageOf(MEASURES),
  },
  (context) => {
    const measures = choose(context.args);
    const address = machineAddress();
    return runMeasures(context, {
      measures,
      header: ["Measure", "Bar", "Measured", "Result"],
      begin: async ({ folder, onStarted }) => {
        const certificates = await ensureCertificates(join(folder, "certificates"), {
          hostNames: ["localhost", address, `${SERVICE}.weir-system.svc`],
          now: new Date(),
        });
        const fixture = await startFixture({ folder, certificates, address, onStarted });
        return async ({ run }) => (await run(fixture)).map((figure) => cellsOf(figure));
      },
    });
  },
);

/** An address of this machine that an EndpointSlice may have: the API server takes none of the loopback network. */
function machineAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const found = all.find(({ family, internal }) => family === "IPv4" && !internal);
  if (found === undefined)
    throw new E2eError("BENCHMARK_FAILED", "Cannot make endpoints: this machine has no IPv4 address but 127.0.0.1");
  return found.address;
}

/** The measures of these names; the first one always, because the others begin where it ends. */
function choose(ids: readonly string[]): readonly OperatorMeasure[] {
  const chosen = chooseMeasures(MEASURES, ids);
  return MEASURES.filter((measure, index) => index === 0 || chosen.includes(measure));
}

function cellsOf({ what, bar, value, unit }: Figure): readonly string[] {
  const text = (number: number): string => `${Number(number.toFixed(2))} ${unit}`;
  if (bar === undefined) return [what, "", text(value), ""];
  return [what, `≤ ${text(bar)}`, text(value), value <= bar ? "PASS" : "MISS"];
}
