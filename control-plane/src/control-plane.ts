// The parts of the control plane, put together in the order of the flow. The one place where
// implementations are chosen; main.ts runs it.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

import { setLogger } from "@grpc/grpc-js";
import { AdminServer } from "@weir/common/admin/admin-server";
import { Lifecycle, type Part } from "@weir/common/lifecycle/lifecycle";
import type { Log, LogFields } from "@weir/common/log/log";
import { formatAddress } from "@weir/common/net/listen";
import { openTlsFiles, type TlsFiles } from "@weir/common/tls/tls-files";
import type { Tracing } from "@weir/common/tracing/tracing";

import type { AdsSecurity } from "./ads/ads-security.ts";
import { type AdsServer, createAdsServer } from "./ads/ads-server.ts";
import { type AnswerBound, createAnswerBound } from "./report/answer-bound.ts";
import type { ClientStatusFacts } from "./report/client-status.ts";
import { clientStatusService } from "./report/client-status-grpc.ts";
import { createPushFollower, type MarkFailed } from "./report/push-follower.ts";
import { type Readiness, readinessOf } from "./report/readiness.ts";
import { reportRollout } from "./report/report-rollout.ts";
import { createRolloutFeed, type RolloutFeed } from "./report/rollout-feed.ts";
import { rolloutGrpcService } from "./report/rollout-grpc.ts";
import type { RolloutFilter, RolloutReport } from "./report/rollout-report.ts";
import { rolloutRoute } from "./report/rollout-route.ts";
import { createPodRegistry } from "./pods/pod-registry.ts";
import { createQuarantine } from "./pods/quarantine.ts";
import type { AdsSecuritySettings, Settings, SourceSettings } from "./settings.ts";
import { createPublisher } from "./snapshot/publisher.ts";
import { DirectorySource, type DirectorySourceDeps } from "./source/directory/directory-source.ts";
import { KubernetesSource } from "./source/kubernetes/kubernetes-source.ts";
import type { Source } from "./source/source.ts";
import { createMetrics, type SourceCounts } from "./status/metrics.ts";
import { statusRoutes } from "./status/status-routes.ts";

/**
 * How often it is looked, for those who watch the rollout, at what changes without an event, in
 * milliseconds.
 */
const LOOK_INTERVAL_MS = 1000;

/**
 * Most answers that are under way at a time: whole reports, some megabytes each, over all
 * transports; and the status of clients, which may be ten times as large.
 */
const ROLLOUTS_MAX = 32;
const CLIENT_STATUSES_MAX = 8;

/** A control plane that is not started yet. */
export interface ControlPlane {
  readonly lifecycle: Lifecycle;
  readonly ads: AdsServer;
  readonly http: AdminServer;
  /**
   * Makes /readyz fail, before anything stops, and sends pods to other replicas one after the other
   * within this time, in milliseconds.
   */
  drain(overMs: number): void;
  /** Reads certificates and resources again, for SIGHUP. */
  reload(): void;
  /** What it serves and where, for the log. */
  describe(): LogFields;
}

/** What comes from the process. */
export interface ControlPlaneDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Records a span for each publication; undefined records none. */
  readonly tracer: Tracing["tracer"];
  /**
   * How often a folder of manifests is looked at unasked, in milliseconds; undefined as often as it
   * needs.
   */
  readonly folderLookMs?: number;
  /** Marks a span as failed; undefined leaves it as it is. */
  readonly markFailed?: MarkFailed | undefined;
}

/** Builds it. Fails with TLS_FILE_INVALID when a certificate cannot be used. */
export function createControlPlane(
  { log, clock, tracer, markFailed, folderLookMs }: ControlPlaneDeps,
  settings: Settings,
): ControlPlane {
  routeGrpcLog(log);
  const tls = openTls(settings.ads.security, log);
  const quarantine = createQuarantine({ clock }, settings);
  const publisher = createPublisher({ log, clock, tracer, quarantine }, settings);
  const source = createSource({ log, listener: publisher, clock }, settings.source, folderLookMs);
  publisher.use(source);
  const pods = createPodRegistry({ clock });
  const self = { replica: hostname(), instance: randomUUID() };
  let isDraining = false;
  const notReady = (): string | undefined => {
    if (isDraining) return "it is shutting down";
    if (publisher.state().assembly === undefined)
      return `the resources have not been read yet: ${source.condition().problem ?? "reading"}`;
    return ads.address() === undefined ? "the ADS listener is not open" : undefined;
  };
  const report = (filter: RolloutFilter = {}): RolloutReport =>
    reportRollout(
      { ...self, nowMs: clock(), notReady: notReady(), source, publisher: publisher.state(), pods: pods.list() },
      filter,
    );
  const feed = createRolloutFeed({ report, clock });
  publisher.onChanged(() => feed.changed());
  pods.onChanged(() => feed.changed());
  const metrics = createMetrics({
    report,
    streams: () => ads.streams(),
    watchers: () => feed.watchers(),
    pods,
    publisher: () => publisher.state(),
    sourceCounts: countsOf(source),
  });
  const clientFacts = (): ClientStatusFacts => ({
    pods: pods.list(),
    snapshotFor: (fleet) => publisher.snapshotFor(fleet),
  });
  const { answers, clientAnswers } = createAnswerBounds();
  const services = [
    rolloutGrpcService({ feed, answers, log }),
    clientStatusService({ facts: clientFacts, answers: clientAnswers, log }),
  ];
  const ads: AdsServer = createAdsServer(
    {
      log,
      security: securityOf(settings.ads.security, tls),
      snapshots: publisher,
      pods,
      quarantine,
      counters: metrics.counters,
      refused: (reason) => metrics.refused(reason),
      services,
    },
    { ...settings.ads, identifier: self.replica },
  );
  const http = new AdminServer({ log }, { ...settings.http, setting: "HTTP_PORT", what: "HTTP" });
  const readiness = (): Readiness => readinessOf(notReady(), publisher.state().publication);
  for (const route of [...statusRoutes({ report, readiness, answers, metrics }), rolloutRoute({ feed, answers, log })])
    http.route(route);
  const follower = createPushFollower({ log, clock, publisher, pods, tracer, markFailed });
  const lifecycle = new Lifecycle({ log }, { stopTimeoutMs: settings.shutdownGraceMs });
  const look = createLook(() => `${notReady()}\n${source.condition().problem}`, feed);
  // HTTP first, so that a start that waits can be looked at; pods last, when there is something to
  // send.
  for (const part of [http, look, ...(tls === undefined ? [] : [tls]), source, publisher, follower, ads, feed])
    lifecycle.add(part);
  return {
    lifecycle,
    ads,
    http,
    drain: (overMs) => {
      isDraining = true;
      // Before pods are sent away: that they leave does not end a push.
      follower.stop();
      ads.drain(overMs);
      feed.changed();
    },
    reload: () => {
      tls?.reload();
      publisher.changed();
    },
    describe: () => describeWhere({ source, ads, http }, settings),
  };
}

/**
 * What clients that do not read may keep waiting: of the rollout, which more of them ask for, and
 * of the status of clients.
 */
function createAnswerBounds(): { readonly answers: AnswerBound; readonly clientAnswers: AnswerBound } {
  return {
    answers: createAnswerBound({ max: ROLLOUTS_MAX, task: "tell the rollout" }),
    clientAnswers: createAnswerBound({ max: CLIENT_STATUSES_MAX, task: "tell the status of clients" }),
  };
}

function createSource(deps: DirectorySourceDeps, settings: SourceSettings, folderLookMs: number | undefined): Source {
  if (settings.kind === "directory") {
    return new DirectorySource(deps, {
      directory: settings.directory,
      ...(folderLookMs !== undefined && { pollIntervalMs: folderLookMs }),
    });
  }
  return new KubernetesSource({ ...deps, random: Math.random }, settings);
}

function describeWhere(
  { source, ads, http }: { readonly source: Source; readonly ads: AdsServer; readonly http: AdminServer },
  settings: Settings,
): LogFields {
  const status = `http://${addressOf(http)}/status`;
  return { source: source.location, ads: addressOf(ads), security: settings.ads.security.kind, status };
}

/**
 * Tells the feed when what is looked at has changed: whether it is ready, and what keeps the source
 * from following, change without an event.
 */
function createLook(read: () => string, feed: RolloutFeed): Part {
  let known = read();
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const now = read();
    if (now === known) return;
    known = now;
    feed.changed();
  };
  return {
    name: "look at the source",
    start: () => {
      timer = setInterval(look, LOOK_INTERVAL_MS);
    },
    stop: () => clearInterval(timer),
  };
}

/** What the source has done, if it is one that counts. */
function countsOf(source: Source): (() => SourceCounts) | undefined {
  return "counts" in source ? () => (source as KubernetesSource).counts() : undefined;
}

/**
 * grpc-js would write lines of its own to standard error, in a form that no reader of our log
 * knows. What matters in them is also told by errors.
 */
function routeGrpcLog(log: Log): void {
  const line = (...words: unknown[]): void => log.debug("grpc", { text: words.map(String).join(" ") });
  setLogger({ error: line, info: line, debug: line });
}

function openTls(security: AdsSecuritySettings, log: Log): TlsFiles | undefined {
  if (security.kind === "plaintext") return undefined;
  const { certPath, keyPath, caPath } = security;
  return openTlsFiles({ certPath, keyPath, caPath }, { log });
}

function securityOf(security: AdsSecuritySettings, files: TlsFiles | undefined): AdsSecurity {
  if (security.kind === "plaintext" || files === undefined) return { kind: "plaintext" };
  return { kind: "mutual-tls", files, allowedNames: security.allowedNames };
}

function addressOf(listener: AdsServer | AdminServer): string {
  const address = listener.address();
  return address === undefined ? "not open" : formatAddress(address);
}
