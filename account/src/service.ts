// Builds the service, from the inside out: keys, store, media, passwords, calls, HTTP.
import { type KeyObject, randomBytes, randomUUID } from "node:crypto";
import { accessSync, constants } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AdminServer, respondText } from "@weir/common/admin/admin-server";
import { makeFolder } from "@weir/common/files/make-folder";
import { Lifecycle } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { formatAddress } from "@weir/common/net/listen";
import { TlsFiles } from "@weir/common/tls/tls-files";
import type { Tracing } from "@weir/common/tracing/tracing";
import { StartError } from "./errors.ts";
import { WorkQueue } from "./fairness/work-queue.ts";
import { AccountCalls, type AccountCallsDeps, type AccountRouteOptions } from "./http/account-routes.ts";
import { type AppDeps, createApp } from "./http/app.ts";
import type { OriginOptions } from "./http/cross-site.ts";
import { Health } from "./http/health.ts";
import { MailCalls } from "./http/mail-routes.ts";
import { ProfileCalls } from "./http/profile-routes.ts";
import type { PageFacts } from "./http/page-routes.ts";
import { createUploadBudget } from "./http/registration-form.ts";
import { ACCOUNT_ROUTES } from "./api/routes.ts";
import { createMailer, type Mail, type Mailer, type MailSettings } from "./mail/mailer.ts";
import type { ImageCleaner } from "./media/image.ts";
import { MediaCleanUp } from "./media/media-clean-up.ts";
import type { MediaStore } from "./media/media-store.ts";
import { type AccountMetrics, createAccountMetrics, type RouteSeries } from "./metrics/account-metrics.ts";
import { createPublicListener, type ListenerPatience } from "./public-listener.ts";
import { createImageCleaner, createMediaStore } from "./service-media.ts";
import type { KeySourcePart } from "./sessions/key-source.ts";
import { openLabelKey, openTokenKeys } from "./sessions/open-keys.ts";
import { createTokens } from "./sessions/tokens.ts";
import type { Settings } from "./settings/settings.ts";
import { createUserStore } from "./store/create-user-store.ts";
import type { UserStore } from "./store/user-store.ts";
import { watchStore } from "./store/watch-store.ts";
import { createThrottle, type ThrottleParts } from "./throttle/create-throttle.ts";
import { type BreachedPasswords, openBreachFile } from "./passwords/breach-file.ts";
import { busyError, createPasswordHasher } from "./passwords/password-hasher.ts";
import { loadCommonPasswords, type PasswordRules } from "./passwords/password-rules.ts";

/** Time that parts other than the HTTP listener have to stop, in milliseconds. */
const STOP_MARGIN_MS = 2000;

/**
 * How many calls may have a place in the queue of hashes, also while their avatar is decoded, and how long
 * a hash may wait, before a call is refused as busy.
 */
const HASH_PLACES_MAX = 256;
const HASH_WAIT_MAX_MS = 3000;

/** The dependencies of the service. */
export interface ServiceDeps {
  readonly log: Log;
  /** Ends with the service. */
  readonly tracing: Tracing;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** Returns true if the stop skips the drain, as a user at a terminal expects. */
  readonly stopsAtOnce: () => boolean;
}

export interface Service {
  readonly lifecycle: Lifecycle;
  /** Origin under which browsers reach it, once started. */
  url(): string;
  /** URL of the listener itself, once started. */
  address(): string;
  /** URL of the listener for operators, once started. */
  metricsUrl(): string;
}

/** Builds the service; throws a StartError when keys or data cannot be used. */
export function createService(settings: Settings, deps: ServiceDeps, patience: ListenerPatience = {}): Service {
  const { log, clock, monotonicMs, tracing } = deps;
  const scheme = settings.http.tls === undefined ? "http" : "https";
  const url = (): string =>
    settings.publicOrigin ?? `${scheme}://localhost:${http.address()?.port ?? settings.http.port}`;
  const metrics = createAccountMetrics(ROUTE_SERIES);
  const dataDirectory = makeDataDirectory(settings.dataDirectory);
  const keys = openTokenKeys(settings.keys, dataDirectory, log);
  const labelKey = openLabelKey(settings.labelSecret, dataDirectory);
  const { storeEvents } = metrics;
  const opened = createUserStore(settings.store, { log, onBreaker: storeEvents.breaker }, { dataDirectory });
  const store = watchStore(opened, { log, events: storeEvents });
  const media = createMediaStore(settings, { log, dataDirectory, url });
  const images = createImageCleaner(settings, log, metrics);
  const { passwordBreachFile: breachFile } = settings;
  const breached = breachFile === undefined ? undefined : openBreachFile(breachFile, { log });
  const passwordRules = loadPasswordRules(settings, breached);
  const { throttle, parts: throttleParts } = createThrottle(settings.throttle, {
    ...{ log, clock, monotonicMs },
    events: metrics.throttleEvents,
  });
  const mail = new LateMailer();
  const stores = { keys, labelKey, store, media: media.store, images };
  const parts = { ...stores, mail, url, clock, metrics, passwordRules, throttle };
  const calls = createCalls(settings, parts);
  const health = new Health({ ping: () => store.ping(), monotonicMs });
  const origins: OriginOptions = {
    allowedOrigins: new Set(settings.corsOrigins),
    publicOrigin: url,
    requireOrigin: settings.cookies.sameSite === "none",
  };
  const app = createApp(
    { ...calls, throttle, media: media.served, health, log, tracing, onAnswered: metrics.answered },
    { cookies: settings.cookies, origins, trustProxy: settings.trustProxy },
  );
  const tls = settings.http.tls && new TlsFiles(settings.http.tls, { log });
  const http = createPublicListener({ log, app, origins, tls, metrics }, settings, patience);
  const admin = createAdmin(settings, { log, metrics, health });

  const lifecycle = new Lifecycle(
    { log },
    { stopTimeoutMs: settings.shutdownDrainMs + settings.shutdownGraceMs + STOP_MARGIN_MS },
  );
  lifecycle.add({ name: "tracing", stop: () => tracing.stop() });
  lifecycle.add(keys);
  lifecycle.add({ name: "user store", start: () => store.start(), stop: () => store.stop() });
  const cleanUp = new MediaCleanUp({ store, media: media.store, clock, log, onOrphan: metrics.mediaOrphaned });
  for (const part of [...media.parts, images, cleanUp]) lifecycle.add(part);
  lifecycle.add({ name: "password rules", start: () => passwordRules.then(() => undefined) });
  for (const part of throttleParts) lifecycle.add(part);
  lifecycle.add({
    name: "mail",
    start: () => mail.start(settings.mail, log),
    stop: () => mail.stop(calls.settleMails),
  });
  if (tls !== undefined) lifecycle.add(tls);
  lifecycle.add(admin);
  lifecycle.add(http);
  lifecycle.add({ name: "drain", stop: () => drain(settings, health, deps) });
  return {
    lifecycle,
    url,
    address: () => `${scheme}://${formatAddress(http.address() ?? settings.http)}`,
    metricsUrl: () => `http://${formatAddress(admin.address() ?? settings.metrics)}`,
  };
}

/** The series that every scrape shows from the start: each route with its success. */
const ROUTE_SERIES: readonly RouteSeries[] = Object.entries(ACCOUNT_ROUTES).map(([name, { method, path }]) => ({
  call: name,
  route: path,
  method: method.toUpperCase(),
  status: name === "register" ? 201 : 200,
}));

function makeDataDirectory(directory: string): string {
  const path = resolve(directory);
  try {
    makeFolder(path, { mode: 0o700 });
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new StartError("DATA_DIRECTORY_UNUSABLE", `Cannot use DATA_DIR ${path}`, { cause });
  }
  return path;
}

async function loadPasswordRules(settings: Settings, breached: BreachedPasswords | undefined): Promise<PasswordRules> {
  return {
    minLength: settings.passwordMinLength,
    isPeppered: settings.passwordPepper !== undefined,
    common: await loadCommonPasswords(),
    forbiddenWords: settings.passwordForbiddenWords,
    breached,
  };
}

/** The mailer, which is there once the service has started: its library takes time and memory to load. */
class LateMailer {
  #mailer: Mailer | undefined;

  async start(settings: MailSettings, log: Log): Promise<void> {
    this.#mailer = await createMailer(settings, log);
  }

  /** After the mails that are on their way. */
  async stop(settle: () => Promise<void>): Promise<void> {
    await settle();
    this.#mailer?.close();
  }

  async send(mail: Mail): Promise<void> {
    await this.#mailer?.send(mail);
  }
}

/** The dependencies of the calls. */
interface CallParts {
  readonly mail: Pick<Mailer, "send">;
  /** Origin under which browsers reach the service. */
  readonly url: () => string;
  readonly clock: () => number;
  readonly keys: KeySourcePart;
  readonly labelKey: KeyObject;
  readonly store: UserStore;
  readonly media: MediaStore;
  readonly images: ImageCleaner;
  readonly metrics: AccountMetrics;
  readonly passwordRules: Promise<PasswordRules>;
  readonly throttle: ThrottleParts["throttle"];
}

function createCalls(
  settings: Settings,
  { mail, url, clock, keys, labelKey, store, media, images, metrics, passwordRules, throttle }: CallParts,
): Pick<AppDeps, "handlers" | "limitSession" | "hasMail" | "accessKeys" | "page"> & {
  readonly settleMails: () => Promise<void>;
} {
  const tokenOptions = {
    issuer: settings.tokenIssuer,
    accessTtlMs: settings.accessTtlMs,
    refreshMaxMs: settings.refreshAbsoluteMs,
  };
  const queue = new WorkQueue({
    concurrency: settings.bcryptConcurrency,
    placesMax: HASH_PLACES_MAX,
    waitMaxMs: HASH_WAIT_MAX_MS,
    refusal: busyError,
    nowMs: () => performance.now(),
    onDepth: metrics.passwordsWaiting,
    onDone: metrics.passwordHashed,
  });
  const account: AccountCallsDeps = {
    throttle,
    images,
    uploads: createUploadBudget(settings.avatarMaxBytes),
    store,
    media,
    hasher: createPasswordHasher(queue, { cost: settings.bcryptCost, pepper: settings.passwordPepper }),
    tokens: createTokens(keys.current, tokenOptions),
    events: metrics.events,
    clock,
    processId: randomUUID(),
    newId: randomUUID,
    newMediaName: () => randomBytes(16).toString("hex"),
    random: Math.random,
    labelKey,
  };
  const options: AccountRouteOptions = {
    idleMs: settings.refreshIdleMs,
    absoluteMs: settings.refreshAbsoluteMs,
    graceMs: settings.refreshGraceMs,
    isRotating: settings.refreshRotation,
    maxSessions: settings.maxSessions,
    accessTtlMs: settings.accessTtlMs,
    cookies: settings.cookies,
    logOutAllowsRefresh: settings.logOutAllowsRefresh,
    avatarMaxBytes: settings.avatarMaxBytes,
    avatarRequired: settings.avatarRequired,
    passwordRules,
  };
  const { register, login, refreshToken, currentUser, logout } = new AccountCalls(account, options);
  const { limit: limitSession, ...profile } = new ProfileCalls(account, options);
  const mailDeps = {
    ...{ ...account, mailer: mail, newToken: () => randomBytes(32) },
    linkUrl: () => (settings.mail.kind === "off" ? undefined : settings.mail.linkUrl) ?? `${url()}/`,
  };
  const { settle, ...mails } = new MailCalls(mailDeps, options);
  return {
    handlers: { register, login, refreshToken, currentUser, logout, ...profile, ...mails },
    ...{ limitSession, settleMails: settle, hasMail: settings.mail.kind !== "off" },
    accessKeys: () => keys.current().access,
    page: settings.hasPage ? pageOf(settings, media) : undefined,
  };
}

/** The facts of the service that the page needs. */
function pageOf(settings: Settings, media: Pick<MediaStore, "url">): PageFacts {
  return {
    mail: settings.mail.kind !== "off",
    avatarRequired: settings.avatarRequired,
    avatarMaxBytes: settings.avatarMaxBytes,
    passwordMinLength: settings.passwordMinLength,
    imageOrigin: () => new URL(media.url("avatar")).origin,
  };
}

/** The listener for operators. */
function createAdmin(
  settings: Settings,
  { log, metrics, health }: { log: Log; metrics: AccountMetrics; health: Health },
): AdminServer {
  const admin = new AdminServer({ log }, { ...settings.metrics, setting: "METRICS_PORT", what: "metrics" });
  admin.route({
    path: "/metrics",
    help: "metrics in Prometheus' text format",
    async handle(_request, response) {
      const text = await metrics.expose();
      response.writeHead(200, { "Content-Type": metrics.contentType }).end(text);
    },
  });
  admin.route({
    path: "/healthz",
    help: "200 while the process works",
    handle: (_request, response) => respondText(response, 200, "alive\n"),
  });
  admin.route({
    path: "/readyz",
    help: "200 while the service wants traffic, else 503",
    async handle(_request, response) {
      const isReady = await health.isReady();
      respondText(response, isReady ? 200 : 503, isReady ? "ready\n" : `not ready: ${health.reason()}\n`);
    },
  });
  return admin;
}

/** Lets load balancers see that the service is not ready before its listener closes. */
async function drain(settings: Settings, health: Health, deps: ServiceDeps): Promise<void> {
  health.drain();
  if (deps.stopsAtOnce() || settings.shutdownDrainMs === 0) return;
  deps.log.info("Draining", { ms: settings.shutdownDrainMs });
  await sleep(settings.shutdownDrainMs);
}
