// The program behind `make bench-operator`: measures how fast statuses are right and how often they are
// written, and prints each figure with its bar. docs/status.md has its results.
import { networkInterfaces } from "node:os";
import { makeCertificates } from "@weir/harness/weir/replica";
import { runMeasures } from "../run-measures.ts";
import { E2eError } from "../../errors.ts";
import { type Fixture, SERVICE, startFixture } from "./fixture.ts";
import { MEASURES } from "./measures.ts";

runMeasures<Fixture>({
  name: "make bench-operator",
  summary: "Measures how fast the operator's statuses are right, and how often they are written.",
  measures: MEASURES,
  needsFirst: true,
  begin: async (bench) => {
    const address = machineAddress();
    const certificates = await makeCertificates(bench.folder, address, `${SERVICE}.weir-system.svc`);
    let fixture: Fixture;
    return async (measure) => {
      if (measure !== MEASURES[0]) return fixture;
      await bench.stopAll();
      return (fixture = await startFixture({ ...bench, certificates, address }));
    };
  },
});

/** An address of this machine that an EndpointSlice may have: the API server takes none of the loopback network. */
function machineAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const found = all.find(({ family, internal }) => family === "IPv4" && !internal);
  if (found === undefined)
    throw new E2eError("BENCHMARK_FAILED", "Cannot make endpoints: this machine has no IPv4 address but 127.0.0.1");
  return found.address;
}
