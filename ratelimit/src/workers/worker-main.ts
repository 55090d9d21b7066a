// The program of a worker. The service starts it, and it ends with the service.
import type { Socket } from "node:net";

import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { parseSettings } from "../settings.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { shareOf } from "./shares.ts";
import { Worker } from "./worker.ts";
import { WorkerService } from "./worker-service.ts";

/** A message with its socket, if it came with one. */
type Received = readonly [message: ToWorker, socket: Socket | undefined];

// The service stops its workers itself: it drains first. A terminal sends its signals to all.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
// The channel closes when the service ends, however it does.
process.on("disconnect", () => process.exit(0));

runProgram({ name: "weir-ratelimit", summary: "A worker of weir-ratelimit, which starts it." }, main);

async function main(context: ProgramContext): Promise<void> {
  const early: Received[] = [];
  let receive = (received: Received): void => void early.push(received);
  const first = Promise.withResolvers<Extract<ToWorker, { kind: "start" }>>();
  process.on("message", (message: ToWorker, socket?: Socket) => {
    if (message.kind === "start") first.resolve(message);
    else receive([message, socket]);
  });
  const { index, workers, isHealthy } = await first.promise;
  const settings = shareOf(parseSettings(context.env), workers, "worker");
  const log = createLog(settings.log).child({ worker: index });
  context.useLog(log);
  const tracing = await startTracing(settings.tracing, { log });
  const reportStore = (isConnected: boolean): void => send({ kind: "store", isConnected });
  const service = await WorkerService.create({ tracing, reportStore, log }, settings);
  service.setHealth(isHealthy);
  const worker = new Worker({ service, send });
  receive = ([message, socket]) => worker.receive(message, socket);
  for (const received of early.splice(0)) receive(received);
  await Promise.race([worker.start(), worker.stopped]);
  await worker.stopped;
  await tracing.stop();
  // Messages are sent in order: when this one is, the last statistics are.
  await new Promise<void>((resolve) => process.send?.({ kind: "drained" } satisfies FromWorker, () => resolve()));
}

/** Sends a message, unless the service has ended: then this process is about to. */
function send(message: FromWorker): void {
  process.send?.(message, undefined, undefined, () => undefined);
}
