// Part of `make fuzz`: sends broken input to connections of the HTTP/2 server and to every listener of the
// real service for as long as wanted, and says with which seed it can be done again.
import { parseArgs } from "node:util";

import { Random } from "@weir/harness/processes/random";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { INPUT_KINDS } from "@weir/http2/fuzz/inputs.suite";
import { runInputs } from "@weir/http2/fuzz/memory-connection.suite";
import { fuzzListener, type FuzzTotals } from "./fuzz-listener.suite.ts";
import { type FuzzedService, type GrpcKind, startFuzzedService } from "./fuzzed-service.suite.ts";

/** Inputs of each listener, and of each kind for connections without one, between two looks at the service. */
const ROUND_INPUTS = 20_000;

/** Looks at one process. */
const ROUNDS = 10;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" }, seed: { type: "string" } } });
const minutes = Number(values.minutes);
const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  print("usage: make fuzz [ARGS='--minutes 10 --seed 1']");
  process.exit(2);
}

print(`Seed ${seed}, ${minutes} minutes; again with: make fuzz ARGS="--seed ${seed} --minutes ${minutes}"`);
const random = new Random(seed);
const totals = new Map<string, FuzzTotals>();
const endMs = performance.now() + minutes * 60_000;
while (performance.now() < endMs) for (const kind of ["plain", "tls", "unix"] as const) await fuzzProcess(kind);
for (const [name, { inputs, connections, bytes }] of totals)
  print(`${name}: ${inputs} inputs over ${connections} connections, ${(bytes / 1e6).toFixed(0)} MB`);
print("The service answered to the end.");

/** One process, whose gRPC listener is of this kind, for a while. */
async function fuzzProcess(kind: GrpcKind): Promise<void> {
  const folder = makeTemporaryFolder();
  const service = await startFuzzedService(folder.path, kind);
  const kill = (): void => service.program.kill();
  process.once("exit", kill);
  try {
    for (let round = 0; round < ROUNDS && performance.now() < endMs; round++) await runRound(service);
    await service.stop();
  } finally {
    process.off("exit", kill);
    kill();
    folder.remove();
  }
}

async function runRound(service: FuzzedService): Promise<void> {
  for (const { name, make } of INPUT_KINDS)
    print(`Connections, ${name}: ${JSON.stringify(await runInputs(make, random.below(2 ** 32), ROUND_INPUTS))}`);
  const sent = service.targets.map((target) => {
    const total = totals.getOrInsertComputed(target.name, () => ({ inputs: 0, bytes: 0, connections: 0 }));
    return fuzzListener(target, random.fork(), ROUND_INPUTS, total);
  });
  await Promise.all(sent);
  await service.assertAnswers();
  const complaints = service.complaints();
  const sum = [...totals.values()].reduce((inputs, total) => inputs + total.inputs, 0);
  print(`${sum} inputs, ${(service.rssBytes() / 2 ** 20).toFixed(0)} MiB, ${service.openSockets()} sockets`);
  if (complaints.length > 0) throw new Error(`The log complains:\n${complaints.slice(0, 20).join("\n")}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
