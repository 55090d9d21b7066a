// The program behind `make bench-operator`: measures how fast statuses are right and how often they are
// written, and prints each figure with its bar. docs/status.md has its results.
import { makeCertificates } from "@weir/harness/weir/replica";
import { runMeasures } from "../run-measures.ts";
import { type Fixture, machineAddress, SERVICE, startFixture } from "./fixture.ts";
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
