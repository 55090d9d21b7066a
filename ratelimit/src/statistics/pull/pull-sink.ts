// Pull statistics: answers scrapes of Prometheus with what is so at that moment. Nothing is kept
// between scrapes but the buckets of durations.
import type { IncomingMessage, ServerResponse } from "node:http";
import { AdminServer } from "@weir/common/admin/admin-server";
import type { Log } from "@weir/common/log/log";
import { createPacedResponses } from "../paced-response.ts";
import type { StatisticsSink } from "../statistics-sink.ts";
import type { StatisticsStore } from "../statistics-store.ts";
import { CONTENT_TYPE, renderFamily } from "./exposition.ts";
import { type Mapping, sanitizeName } from "./mapping.ts";
import { observeProcess, type ProcessMetrics } from "./process-metrics.ts";
import { openSnapshots, type Snapshots } from "./snapshot.ts";

/** Most connections at a time. */
const CONNECTIONS_MAX = 10_000;

/** Settings of pull statistics. */
export interface PullSinkOptions {
  /** PULLSTATS_ADDR: host ("" and "0.0.0.0" = all interfaces) and port. Default :9090. */
  readonly host: string;
  readonly port: number;
  /** PULLSTATS_PATH. Default /metrics. */
  readonly path: string;
  /** EXTRA_TAGS: labels on every series. */
  readonly extraTags: ReadonlyMap<string, string>;
}

/** Creates the sink; it listens from `start` on and counts durations from now on. */
export function createPullSink(
  deps: { readonly store: StatisticsStore; readonly mapping: Mapping; readonly log: Log },
  options: PullSinkOptions,
): StatisticsSink {
  return new PullSink(deps.store, deps.mapping, deps.log, options);
}

class PullSink implements StatisticsSink {
  readonly name = "pull statistics";
  readonly #extraLabels: ReadonlyMap<string, string>;
  readonly #snapshots: Snapshots;
  readonly #server;
  readonly #responses = createPacedResponses();
  #process: ProcessMetrics | undefined;

  constructor(store: StatisticsStore, mapping: Mapping, log: Log, { host, port, path, extraTags }: PullSinkOptions) {
    this.#extraLabels = new Map(Array.from(extraTags, ([name, value]) => [sanitizeName(name), value]));
    this.#snapshots = openSnapshots({ store, mapping }, { extraLabels: this.#extraLabels });
    this.#server = new AdminServer(
      { log },
      {
        host: host === "" ? "0.0.0.0" : host,
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
      this.#process.close();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.#snapshots.close();
    this.#process?.close();
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
    const ownMetrics = (await this.#process?.render()) ?? "";
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
