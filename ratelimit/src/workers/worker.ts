// A worker: obeys the messages of the service and reports to it.
import type { Socket } from "node:net";

import { WorkerConnections } from "./worker-connections.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { StatisticsReporter } from "./statistics/statistics-reporter.ts";
import type { WorkerService } from "./worker-service.ts";

/** Time between two reports of statistics, in milliseconds. */
const REPORT_INTERVAL_MS = 250;

export interface WorkerDeps {
  readonly service: WorkerService;
  readonly send: (message: FromWorker) => void;
}

/** The worker, from its creation. */
export class Worker {
  readonly #service: WorkerService;
  readonly #send: (message: FromWorker) => void;
  readonly #connections: WorkerConnections;
  readonly #reporter: StatisticsReporter;
  readonly #stopped = Promise.withResolvers<void>();
  /** The set of rules that is being loaded. */
  #loaded: Promise<void> = Promise.resolve();
  #reportTimer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor({ service, send }: WorkerDeps) {
    this.#service = service;
    this.#send = send;
    this.#connections = new WorkerConnections(service.transport, send);
    this.#reporter = new StatisticsReporter(service.store, (report) => send({ kind: "statistics", report }));
  }

  /** Resolves when the service has asked it to stop and everything has ended. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** Resolves when it can decide. */
  async start(): Promise<void> {
    await this.#service.start();
    if (this.#isStopping) return;
    this.#reportLater();
    this.#send({ kind: "ready" });
  }

  /** Obeys a message; a connection comes with its socket, unless it has closed on the way. */
  receive(message: ToWorker, socket: Socket | undefined): void {
    switch (message.kind) {
      case "start":
        return; // It was the first.
      case "load":
        this.#loaded = this.#loaded.then(async () => {
          await this.#service.load(message);
          this.#send({ kind: "loaded", id: message.id });
        });
        return;
      case "health":
        this.#service.setHealth(message.isHealthy);
        return;
      case "connection":
        this.#connections.take(socket);
        return;
      case "shed":
        this.#connections.shed(message.connections);
        return;
      case "refresh":
        void this.#refresh(message);
        return;
      case "reload":
        this.#service.reload();
        return;
      case "drain":
        void this.#service.transport.drain().then(() => this.#send({ kind: "drained" }));
        return;
      case "stop":
        void this.#stop().then(this.#stopped.resolve, this.#stopped.reject);
    }
  }

  async #refresh({ id, keysOf }: Extract<ToWorker, { kind: "refresh" }>): Promise<void> {
    await this.#reporter.report();
    this.#send({ kind: "refreshed", id, keys: keysOf && this.#service.readKeys(keysOf) });
  }

  async #stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    clearTimeout(this.#reportTimer);
    await this.#service.stop();
    await this.#reporter.report();
  }

  #reportLater(): void {
    if (this.#isStopping) return;
    this.#reportTimer = setTimeout(
      () => void this.#reporter.report().then(() => this.#reportLater()),
      REPORT_INTERVAL_MS,
    );
  }
}
