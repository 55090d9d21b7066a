// Puts the parts of the control plane together, in the order of the flow: from the source of
// resources to the streams of the pods, and the reports about them.
import { createHmac, randomUUID, X509Certificate } from "node:crypto";
import { hostname } from "node:os";

import { type AdminRoute, AdminServer } from "@weir/common/admin/admin-server";
import { Lifecycle, type Part } from "@weir/common/lifecycle/lifecycle";
import type { Log, LogFields } from "@weir/common/log/log";
import { formatAddress } from "@weir/common/net/listen";
import { TlsFiles } from "@weir/common/tls/tls-files";
import type { Tracing } from "@weir/common/tracing/tracing";

import type { AdsSecurity } from "./ads/ads-security.ts";
import { AdsServer } from "./ads/ads-server.ts";
import { LastGoodKeeper } from "./pods/last-good-keeper.ts";
import { PodRegistry } from "./pods/pod-registry.ts";
import { ConcurrencyLimit } from "./report/concurrency-limit.ts";
import { FleetWatch } from "./report/fleet-watch.ts";
import { type MarkFailed, PushFollower } from "./report/push-follower.ts";
import { QuarantineLog } from "./report/quarantine-log.ts";
import { reportRollout } from "./report/rollout/report-rollout.ts";
import { RolloutFeed } from "./report/rollout/rollout-feed.ts";
import { rolloutMethods } from "./report/rollout/rollout-grpc.ts";
import type { RolloutFilter, RolloutReport } from "./report/rollout/rollout-report.ts";
import { rolloutRoute } from "./report/rollout/rollout-route.ts";
import type { AdsSecuritySettings } from "./ads-security-settings.ts";
import { ChangeLog } from "./console/change-log.ts";
import { ConsoleFeed } from "./console/console-feed.ts";
import { consoleRoute } from "./console/console-route.ts";
import { consoleServer, optionalConsole } from "./console/console-server.ts";
import { pageRoutes } from "./console/page-routes.ts";
import { ObserveHub } from "./observe/observe-hub.ts";
import type { Settings } from "./settings.ts";
import type { IsLoaded } from "./snapshot/revision-history.ts";
import { Publisher } from "./snapshot/publisher.ts";
import { DirectorySource, type DirectorySourceDeps } from "./source/directory/directory-source.ts";
import { KubernetesSource } from "./source/kubernetes/kubernetes-source.ts";
import type { Source } from "./source/source.ts";
import type { CertificateTimes } from "./status/gauges.ts";
import { createMetrics, type Metrics } from "./status/metrics.ts";
import { statusRoutes, withoutReports } from "./status/status-routes.ts";

/** How often conditions that change without an event are checked for watchers, in milliseconds. */
const CHECK_INTERVAL_MS = 1000;

/** The label of the secret of hashes: nothing else that is made from the private key is equal to that secret. */
const HASH_SECRET_LABEL = "weir.observe.v1 hashes of values";

/** Most concurrent answers: reports of some megabytes. */
const ROLLOUTS_MAX = 32;

export interface ControlPlaneDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Records a span for each publication; undefined records none. */
  readonly tracer: Tracing["tracer"];
  /** How often a folder of manifests is read unasked, in milliseconds; undefined: its default. */
  readonly folderLookMs?: number;
  /** Marks a span as failed; undefined leaves it as it is. */
  readonly markFailed?: MarkFailed | undefined;
}

/** The control plane; its lifecycle starts it. */
export class ControlPlane {
  readonly lifecycle: Lifecycle;
  readonly ads: AdsServer;
  readonly http: AdminServer;
  /** The listeners of the loopback addresses; not open when their port is taken and not needed. */
  readonly console: AdminServer | undefined;
  readonly #deps: ControlPlaneDeps;
  readonly #settings: Settings;
  readonly #self = { replica: hostname(), instance: randomUUID() };
  readonly #security: AdsSecurity;
  readonly #publisher: Publisher;
  readonly #source: Source;
  readonly #pods: PodRegistry;
  readonly #feed: RolloutFeed;
  readonly #hub: ObserveHub;
  readonly #consoleFeed: ConsoleFeed;
  readonly #changeLog: ChangeLog;
  readonly #metrics: Metrics;
  readonly #rolloutLimit = new ConcurrencyLimit({ max: ROLLOUTS_MAX, task: "report the rollout" });
  readonly #follower: PushFollower;
  readonly #fleetWatch: FleetWatch;
  #isDraining = false;

  /** Fails with TLS_FILE_INVALID when a certificate cannot be used. */
  constructor(deps: ControlPlaneDeps, settings: Settings) {
    const { log, clock, tracer, markFailed, folderLookMs } = deps;
    this.#deps = deps;
    this.#settings = settings;
    this.#security = openSecurity(settings.ads.security, log);
    this.#pods = new PodRegistry({ clock });
    this.#source = createSource({ log, clock }, settings, folderLookMs);
    const loadedRevisions = (): IsLoaded => this.#pods.loadedRevisions();
    this.#publisher = new Publisher({ log, clock, tracer, source: this.#source, loadedRevisions }, settings);
    this.#feed = new RolloutFeed({ report: (filter) => this.#report(filter), clock });
    this.#hub = new ObserveHub({
      clock,
      fleetsOfPods: () => this.#pods.list().map(({ fleet }) => fleet),
      hashSecret: () => hashSecretOf(this.#security),
    });
    if (this.#security.kind === "mutual-tls") this.#security.files.onChange(() => this.#hub.secretChanged());
    this.#changeLog = new ChangeLog({ publisher: this.#publisher, clock });
    this.#consoleFeed = new ConsoleFeed({ hub: this.#hub, rollout: this.#feed, clock, ...this.#self });
    this.#publisher.onChanged(() => this.#feed.changed());
    this.#pods.onChanged(() => this.#feed.changed());
    this.#metrics = this.#createMetrics();
    this.ads = this.#createAdsServer();
    const routes = this.#httpRoutes();
    this.http = this.#createHttpServer(routes);
    const consoleRoutes = [
      ...pageRoutes(),
      ...routes,
      consoleRoute({
        ...{ feed: this.#consoleFeed, published: this.#publisher, changeLog: this.#changeLog },
        ...{ questions: this.#hub.questions, clock, log },
      }),
    ];
    this.console = consoleServer({ log }, consoleRoutes, settings.http.consolePort);
    this.#follower = new PushFollower({ log, clock, publisher: this.#publisher, pods: this.#pods, tracer, markFailed });
    this.#fleetWatch = new FleetWatch({
      log,
      clock,
      resources: () => this.#publisher.state().desired?.accepted,
      onChanged: (listener) => this.#publisher.onChanged(listener),
      pods: this.#pods,
    });
    this.lifecycle = this.#createLifecycle();
  }

  /**
   * Makes /readyz fail, before anything stops, and sends pods to other replicas one after the other
   * within this time, in milliseconds.
   */
  drain(overMs: number): void {
    this.#isDraining = true;
    // Before pods are sent away: their leaving does not end a push.
    this.#follower.stop();
    this.ads.drain(overMs);
    this.#feed.changed();
  }

  /** Reads certificates and resources again, for SIGHUP. */
  reload(): void {
    if (this.#security.kind === "mutual-tls") this.#security.files.reload();
    this.#publisher.changed();
  }

  /** Source, addresses and protection, for the log. */
  describe(): LogFields {
    const { console } = this;
    const hasConsole = console?.address() !== undefined;
    return {
      source: this.#source.location,
      ads: addressOf(this.ads),
      security: this.#settings.ads.security.kind,
      probes: `http://${addressOf(this.http)}/readyz`,
      ...(hasConsole && { console: `http://${addressOf(console)}/` }),
    };
  }

  /** Why the replica is not ready; undefined when it is. */
  #notReady(): string | undefined {
    if (this.#isDraining) return "it is shutting down";
    if (this.#publisher.state().desired === undefined)
      return `the resources have not been read yet: ${this.#source.condition().problem ?? "reading"}`;
    return this.ads.address() === undefined ? "the ADS listener is not open" : undefined;
  }

  #report(filter: RolloutFilter = {}): RolloutReport {
    return reportRollout(
      {
        ...this.#self,
        nowMs: this.#deps.clock(),
        notReady: this.#notReady(),
        source: this.#source,
        publisher: this.#publisher.state(),
        pods: this.#pods.list(),
      },
      filter,
    );
  }

  #createMetrics(): Metrics {
    const files = this.#security.kind === "mutual-tls" ? this.#security.files : undefined;
    return createMetrics({
      report: () => this.#report(),
      streams: () => this.ads.streams(),
      watchers: () => this.#feed.watchers(),
      pods: this.#pods,
      publisher: () => this.#publisher.state(),
      source: this.#source,
      certificate: () => timesOf(files?.current().cert),
    });
  }

  #createAdsServer(): AdsServer {
    return new AdsServer(
      {
        log: this.#deps.log,
        security: this.#security,
        publisher: this.#publisher,
        pods: this.#pods,
        clock: this.#deps.clock,
        refused: (reason) => this.#metrics.refused(reason),
        observations: this.#hub,
        reports: rolloutMethods({ feed: this.#feed, limit: this.#rolloutLimit, log: this.#deps.log }),
      },
      { ...this.#settings.ads, identifier: this.#self.replica, snapshotMaxBytes: this.#settings.snapshotMaxBytes },
    );
  }

  #httpRoutes(): readonly AdminRoute[] {
    const { log } = this.#deps;
    const routes = statusRoutes({
      readiness: () => ({ notReady: this.#notReady(), publication: this.#publisher.state().publication }),
      metrics: this.#metrics,
    });
    return [...routes, rolloutRoute({ feed: this.#feed, limit: this.#rolloutLimit, log })];
  }

  #createHttpServer(routes: readonly AdminRoute[]): AdminServer {
    const { http: settings } = this.#settings;
    const http = new AdminServer({ log: this.#deps.log }, { ...settings, setting: "HTTP_PORT", what: "HTTP" });
    for (const route of settings.hasReports ? routes : withoutReports(routes)) http.route(route);
    return http;
  }

  #createLifecycle(): Lifecycle {
    const { log } = this.#deps;
    const { needsConsole } = this.#settings.http;
    const lifecycle = new Lifecycle({ log }, { stopTimeoutMs: this.#settings.shutdownGraceMs });
    // HTTP first, so that a start that waits answers probes; pods last, when there is a snapshot.
    const tls = this.#security.kind === "mutual-tls" ? [this.#security.files] : [];
    const first = [
      this.http,
      ...(this.console === undefined ? [] : [needsConsole ? this.console : optionalConsole({ log }, this.console)]),
      this.#conditionCheck(),
      this.#fleetWatch,
      ...tls,
    ];
    const followers: readonly Part[] = [
      this.#follower,
      new QuarantineLog({ log, pods: this.#pods }),
      this.#changeLog,
      new LastGoodKeeper({ log, publisher: this.#publisher, source: this.#source }),
    ];
    for (const part of [
      ...first,
      this.#source,
      this.#publisher,
      ...followers,
      this.#hub,
      this.ads,
      this.#feed,
      this.#consoleFeed,
    ])
      lifecycle.add(part);
    return lifecycle;
  }

  /** Notifies the feed of changes without an event: readiness, and problems of the source. */
  #conditionCheck(): Part {
    const read = (): string => `${this.#notReady()}\n${this.#source.condition().problem}`;
    let known = read();
    let timer: NodeJS.Timeout | undefined;
    const check = (): void => {
      const now = read();
      if (now === known) return;
      known = now;
      this.#feed.changed();
    };
    return {
      name: "condition check",
      start: () => {
        timer = setInterval(check, CHECK_INTERVAL_MS);
      },
      stop: () => clearInterval(timer),
    };
  }
}

function createSource(
  deps: DirectorySourceDeps,
  { source: settings, allowEmptyAfterMs }: Settings,
  folderLookMs: number | undefined,
): Source {
  if (settings.kind === "kubernetes") {
    const options = { ...settings, keepVanishedMs: allowEmptyAfterMs };
    return new KubernetesSource({ ...deps, random: Math.random }, options);
  }
  return new DirectorySource(deps, {
    directory: settings.directory,
    stateDirectory: settings.stateDirectory,
    ...(folderLookMs !== undefined && { pollIntervalMs: folderLookMs }),
  });
}

function openSecurity(security: AdsSecuritySettings, log: Log): AdsSecurity {
  if (security.kind === "plaintext") return security;
  const { certPath, keyPath, caPath, ...access } = security;
  return { ...access, files: new TlsFiles({ certPath, keyPath, caPath }, { log }) };
}

/**
 * The secret of hashes of values: made from the private key, which replicas share and no other program has. It
 * changes with the certificate, which only makes hashes of two watches differ. In plaintext there is none.
 */
function hashSecretOf(security: AdsSecurity): Buffer | undefined {
  const key = security.kind === "mutual-tls" ? security.files.current().key : undefined;
  return key && createHmac("sha256", key).update(HASH_SECRET_LABEL).digest();
}

function addressOf(listener: AdsServer | AdminServer): string {
  const address = listener.address();
  return address === undefined ? "not open" : formatAddress(address);
}

/** Those of the first certificate of a chain in PEM. */
function timesOf(chain: Buffer | undefined): CertificateTimes | undefined {
  if (chain === undefined) return undefined;
  const { validFromDate, validToDate } = new X509Certificate(chain);
  return { beginMs: validFromDate.getTime(), endMs: validToDate.getTime() };
}
