// `make check`: runs every gate, or those named as arguments, and prints which failed and why.
import { formatGateResult, listGates, runGates } from "./gates.ts";

const all = listGates({ cache: process.env["CI"] === undefined });
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.some((gate) => gate.name === name));
if (unknown.length > 0) {
  console.error(
    `Cannot check ${unknown.map((name) => `"${name}"`).join(", ")}: the gates are ${all.map((gate) => `"${gate.name}"`).join(", ")}`,
  );
  process.exit(2);
}
const gates = wanted.length === 0 ? all : all.filter((gate) => wanted.includes(gate.name));
console.log(`==> Checking (${gates.length} gates)`);
const startedMs = performance.now();
const results = await runGates(gates, (result) => {
  console.log(formatGateResult(result));
});
const failed = results.filter((result) => result.code !== 0);
if (failed.length > 0) console.log(`\nFailed: ${failed.map((result) => result.gate.name).join(", ")}`);
console.log(`==> Checked in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
