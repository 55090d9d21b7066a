// Puts the operator together: caches of the cluster and probes on every replica, and on the one that is
// the leader the parts that write.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

import { AdminServer, respondText } from "@weir/common/admin/admin-server";
import { Lifecycle, runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import type { Log, LogFields } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { formatAddress } from "@weir/common/net/listen";
import type { ClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import { REPLICA_TIMES } from "@weir/kubernetes/reflector/replica-times";

import { LeaderElection } from "./leader/leader-election.ts";
import { LeaderWriter } from "./leader/leader-writer.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import type { OperatorParts, PartDeps } from "./parts.ts";
import { ClusterCaches } from "./reconcile/cluster-caches.ts";
import type { Settings } from "./settings.ts";

/** Shortest time between two lines about requests without an answer, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/** Sent to the API server with every request. */
const USER_AGENT = "weir-operator";

export interface OperatorDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly access: ClusterAccess;
  readonly createParts: (deps: PartDeps) => OperatorParts;
}

/** The operator; its lifecycle starts it. */
export class Operator {
  readonly lifecycle: Lifecycle;
  readonly http: AdminServer;
  readonly #deps: OperatorDeps;
  readonly #settings: Settings;
  readonly #metrics: Metrics;
  readonly #client: ApiClient;
  readonly #caches: ClusterCaches;
  readonly #election: LeaderElection;
  readonly #parts: OperatorParts;
  readonly #failed = new AbortController();
  readonly #identity = `${hostname()}_${randomUUID()}`;

  constructor(deps: OperatorDeps, settings: Settings) {
    const { log, clock, monotonicMs, random } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.#metrics = createMetrics(settings.lease.name, () => this.#election.isLeader);
    this.#client = this.#createClient();
    const objects = new ObjectClient(this.#client);
    this.#caches = new ClusterCaches({ client: this.#client, log, clock, random }, REPLICA_TIMES);
    this.#election = this.#createElection(objects);
    this.#parts = deps.createParts({
      log,
      clock,
      monotonicMs,
      random,
      registry: this.#metrics.registry,
      objects: this.#writerOf(objects),
      caches: this.#caches,
      settings,
    });
    this.http = this.#createHttpServer();
    this.lifecycle = this.#createLifecycle();
  }

  /** Aborted when the process must end; to stop the lifecycle fails then with the reason. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  /** Addresses and the scope, for the log. */
  describe(): LogFields {
    const address = this.http.address();
    return {
      identity: this.#identity,
      namespaces: this.#settings.namespaces?.join(",") ?? "all",
      probes: address === undefined ? "not open" : `http://${formatAddress(address)}/readyz`,
    };
  }

  #createClient(): ApiClient {
    const slow = new RateLimitedLog(this.#deps.log, {
      intervalMs: LOG_INTERVAL_MS,
      monotonicMs: this.#deps.monotonicMs,
    });
    return new ApiClient(this.#deps.access, REPLICA_TIMES, {
      userAgent: USER_AGENT,
      slow: (_request, { server, waitsFor, waitedMs }) =>
        slow.warn("The API server does not answer, still waiting", { server, waitsFor, waitedMs }),
      answered: (answer) => this.#metrics.answered(answer),
    });
  }

  #createElection(objects: ObjectClient): LeaderElection {
    const { log, clock, monotonicMs, random } = this.#deps;
    const { namespace, lease } = this.#settings;
    const lead = (signal: AbortSignal): Promise<void> => this.#lead(signal);
    return new LeaderElection(
      { objects, log, clock, monotonicMs, random, lead, failed: () => this.#failed.abort() },
      { ...lease, namespace, identity: this.#identity },
    );
  }

  #writerOf(objects: ObjectClient): PartDeps["objects"] {
    const { durationMs, renewDeadlineMs } = this.#settings.lease;
    const writer = new LeaderWriter(
      { objects, leadership: this.#election },
      // A write that a leader begins by the deadline of its renewal ends before others can take the Lease.
      { writeMaxMs: durationMs - renewDeadlineMs },
    );
    return {
      get: (...args) => objects.get(...args),
      list: (...args) => objects.list(...args),
      apply: (...args) => writer.apply(...args),
      create: (...args) => writer.create(...args),
      update: (...args) => writer.update(...args),
      delete: (...args) => writer.delete(...args),
    };
  }

  /** The work of the leader, until the signal is aborted. Fails when it does not end within the time for a stop. */
  async #lead(signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    const lifecycle = new Lifecycle({ log }, { stopTimeoutMs: this.#settings.shutdownGraceMs });
    for (const part of this.#parts.leading) lifecycle.add(part);
    await runUntilAborted(lifecycle, signal);
  }

  #createHttpServer(): AdminServer {
    const http = new AdminServer(
      { log: this.#deps.log },
      { ...this.#settings.http, setting: "HTTP_PORT", what: "HTTP" },
    );
    http.route({
      path: "/healthz",
      help: "200 while the process works",
      handle: (_request, response) => respondText(response, 200, "ok\n"),
    });
    http.route({
      path: "/readyz",
      help: "200 when the objects of the cluster were read; says whether this replica is the leader",
      handle: (_request, response) => {
        const problem = this.#caches.notSynced();
        const role = this.#election.isLeader ? "leader" : "candidate";
        if (problem === undefined) respondText(response, 200, `ready\n${role}\n`);
        else respondText(response, 503, `not ready: the cluster has not been read yet: ${problem}\n`);
      },
    });
    http.route({
      path: "/metrics",
      help: "metrics for Prometheus",
      handle: async (_request, response) => {
        const { registry } = this.#metrics;
        const text = await registry.metrics();
        response.writeHead(200, { "Content-Type": registry.contentType, "Cache-Control": "no-store" });
        response.end(text);
      },
    });
    return http;
  }

  #createLifecycle(): Lifecycle {
    const { log } = this.#deps;
    const lifecycle = new Lifecycle({ log }, { stopTimeoutMs: this.#settings.shutdownGraceMs });
    lifecycle.add(this.http);
    lifecycle.add({ name: "API client", stop: () => this.#client.close() });
    for (const part of this.#parts.everywhere) lifecycle.add(part);
    lifecycle.add(this.#caches);
    // A replica that has not read the cluster cannot do the work of the leader.
    lifecycle.add(this.#election);
    return lifecycle;
  }
}
