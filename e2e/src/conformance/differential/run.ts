// `make differential`: compares with envoyproxy/ratelimit on other random configurations than the
// tests do, and says with which seed it can be done again.
import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { runDifferential } from "./differential.ts";

const USAGE = "usage: make differential [ARGS='--configurations 100 --requests 1000 --seed 1']";

const { values } = parseArgs({
  options: {
    configurations: { type: "string", default: "100" },
    requests: { type: "string", default: "1000" },
    seed: { type: "string" },
  },
});
const configurations = Number(values.configurations);
const requests = Number(values.requests);
const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed);
if (![configurations, requests, seed].every((value) => Number.isSafeInteger(value) && value >= 0)) {
  console.error(USAGE);
  process.exit(2);
}

console.log(`Seed ${seed}, ${configurations} configurations; again with: make differential ARGS="--seed ${seed}"`);
const folder = makeTemporaryFolder();
mkdirSync(folder.path, { recursive: true });
try {
  const differences = await runDifferential({ seed, configurations, requests }, folder.path, console.log);
  for (const { configuration, what } of differences) console.log(`configuration ${configuration}: ${what}`);
  const isEqual = differences.length === 0;
  console.log(
    isEqual ? "Everything was equal, apart from what docs/conformance.md lists." : `${differences.length} differences`,
  );
  process.exitCode = differences.length === 0 ? 0 : 1;
} finally {
  folder.remove();
}
