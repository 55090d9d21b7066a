// `make fuzz`: sends broken input to connections of the HTTP/2 server and to every listener of the
// real service for as long as wanted, and says with which seed it can be done again.
import { parseArgs } from "node:util";

import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { fuzzListener, type FuzzTotals } from "./fuzz-listener.suite.ts";
import { type FuzzedService, type GrpcKind, startFuzzedService } from "./fuzzed-service.suite.ts";
import { Random } from "@weir/harness/processes/random";
import { INPUT_KINDS } from "@weir/http2/fuzz/inputs.suite";
import { runInputs } from "@weir/http2/fuzz/run-inputs.suite";

const USAGE = "usage: make fuzz [ARGS='--minutes 10 --seed 1']";

/** Inputs of each listener between two looks at the service. */
const ROUND_INPUTS = 20_000;

/** Inputs of each kind for connections without a listener, between two such rounds. */
const CONNECTION_INPUTS = 20_000;

const GRPC_KINDS = ["plain", "tls", "unix"] as const satisfies readonly GrpcKind[];

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" }, seed: { type: "string" } } });
const minutes = Number(values.minutes);
const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  console.error(USAGE);
  process.exit(2);
}

console.log(`Seed ${seed}, ${minutes} minutes; again with: make fuzz ARGS="--seed ${seed} --minutes ${minutes}"`);
const random = new Random(seed);
const totals = new Map<string, FuzzTotals>();
let connectionInputs = 0;
const endMs = performance.now() + minutes * 60_000;
for (let round = 0; performance.now() < endMs; round++)
  await runRound(GRPC_KINDS[round % GRPC_KINDS.length] ?? "plain");
for (const [name, { inputs, connections, bytes }] of totals) {
  console.log(`${name}: ${inputs} inputs over ${connections} connections, ${(bytes / 1e6).toFixed(0)} MB`);
}
console.log("The service answered to the end.");

/** One process, whose gRPC listener is of this kind, for a while. */
async function runRound(kind: GrpcKind): Promise<void> {
  const folder = makeTemporaryFolder();
  const service = await startFuzzedService(folder.path, kind);
  const kill = (): void => service.program.kill();
  process.once("exit", kill);
  try {
    for (let batch = 0; batch < 10 && performance.now() < endMs; batch++) await runBatch(service);
    await service.stop();
  } finally {
    process.off("exit", kill);
    kill();
    folder.remove();
  }
}

async function runBatch(service: FuzzedService): Promise<void> {
  for (const { name, make } of INPUT_KINDS) {
    const ends = await runInputs(make, random.below(2 ** 32), CONNECTION_INPUTS);
    connectionInputs += CONNECTION_INPUTS;
    console.log(`${connectionInputs} inputs for connections, the last of ${name}: ${JSON.stringify(ends)}`);
  }
  const sent = service.targets.map(async (target) => {
    const total = totals.get(target.name) ?? { inputs: 0, bytes: 0, connections: 0 };
    totals.set(target.name, total);
    await fuzzListener(target, random.fork(), ROUND_INPUTS, total);
  });
  await Promise.all(sent);
  await service.assertAnswers();
  const complaints = service.complaints();
  const sum = [...totals.values()].reduce((inputs, total) => inputs + total.inputs, 0);
  console.log(`${sum} inputs, ${(service.rssBytes() / 2 ** 20).toFixed(0)} MiB, ${service.openSockets()} sockets`);
  if (complaints.length > 0) throw new Error(`The log complains:\n${complaints.slice(0, 20).join("\n")}`);
}
