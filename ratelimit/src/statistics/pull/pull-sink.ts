// Pull statistics: serves the current values to Prometheus. Only the buckets of durations are kept
// between scrapes.
import type { IncomingMessage, ServerResponse } from "node:http";
import { AdminServer } from "@weir/common/admin/admin-server";
import { MISNAMED_METRICS } from "@weir/common/admin/misnamed-metrics";
import type { Log } from "@weir/common/log/log";
import type { Registry } from "prom-client";

import { PacedResponses } from "../paced-response.ts";
import type { StatisticsSink } from "../statistics-sink.ts";
import type { StatisticsStore } from "../statistics-store.ts";
import { CONTENT_TYPE, renderFamily } from "./exposition.ts";
import { type Mapping, sanitizeName } from "./mapping.ts";
import { Snapshots } from "./snapshot.ts";

/** Most connections at a time. */
const CONNECTIONS_MAX = 10_000;

/** Settings of pull statistics. */
export interface PullSinkOptions {
  /** PULLSTATS_ADDR: host and port. Default :9090. */
  readonly host: string;
  readonly port: number;
  /** PULLSTATS_PATH. Default /metrics. */
  readonly path: string;
  /** EXTRA_TAGS: labels on every series. */
  readonly extraTags: ReadonlyMap<string, string>;
}

/** The sink. It records durations from its creation and listens from `start`. */
export class PullSink implements StatisticsSink {
  readonly name = "pull statistics";
  readonly #extraLabels: ReadonlyMap<string, string>;
  readonly #store: StatisticsStore;
  readonly #snapshots: Snapshots;
  readonly #server;
  readonly #responses = new PacedResponses();
  /** CPU, memory, files, event loop and garbage collection of the process. */
  #process: Registry | undefined;

  constructor(
    { store, mapping, log }: { readonly store: StatisticsStore; readonly mapping: Mapping; readonly log: Log },
    { host, port, path, extraTags }: PullSinkOptions,
  ) {
    this.#extraLabels = new Map(Array.from(extraTags, ([name, value]) => [sanitizeName(name), value]));
    this.#store = store;
    this.#snapshots = new Snapshots({ store, mapping }, { extraLabels: this.#extraLabels });
    this.#server = new AdminServer(
      { log },
      {
        host,
        port,
        setting: "PULLSTATS_ADDR",
        what: "pull statistics",
        connectionsMax: CONNECTIONS_MAX,
      },
    );
    this.#server.route({
      path,
      help: "statistics in the text format of Prometheus",
      handle: (request, response) => this.#answer(request, response),
    });
  }

  async start(): Promise<void> {
    this.#process = await observeProcess(this.#extraLabels);
    try {
      await this.#server.start();
    } catch (error) {
      this.#process.clear();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#snapshots.close();
    this.#process?.clear();
    await this.#server.stop();
  }

  address(): string | undefined {
    const address = this.#server.address();
    return address === undefined ? undefined : `${address.host}:${address.port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.writeHead(200, { "content-type": CONTENT_TYPE });
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    await this.#store.collect();
    const ownMetrics = (await this.#process?.metrics()) ?? "";
    await this.#responses.send(response, () => this.#write(ownMetrics));
  }

  *#write(ownMetrics: string): Generator<string, void> {
    yield ownMetrics === "" || ownMetrics.endsWith("\n") ? ownMetrics : `${ownMetrics}\n`;
    const collecting = this.#snapshots.collect();
    let collected = collecting.next();
    while (collected.done !== true) {
      yield "";
      collected = collecting.next();
    }
    for (const family of collected.value) yield* renderFamily(family);
  }
}

/**
 * Starts to observe the process. prom-client is loaded here, because only pull statistics need it.
 */
async function observeProcess(extraLabels: ReadonlyMap<string, string>): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  registry.setDefaultLabels(Object.fromEntries(extraLabels));
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_METRICS) registry.removeSingleMetric(name);
  return registry;
}
