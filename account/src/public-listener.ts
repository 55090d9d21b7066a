// Builds the listener for callers around the application: bounds on everything that a client can hold.
import type { IncomingMessage, RequestListener } from "node:http";
import type { Log } from "@weir/common/log/log";
import type { BodyPace } from "@weir/common/net/body-pace";
import { HttpListener, type HttpTimeouts } from "@weir/common/net/http-listener";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import { brokenRequestAnswer } from "./http/broken-request.ts";
import type { OriginOptions } from "./http/cross-site.ts";
import { formMaxBytes } from "./http/registration-form.ts";
import type { AccountMetrics } from "./metrics/account-metrics.ts";
import type { Settings } from "./settings/settings.ts";

/**
 * How long a connection may be idle between two requests, in milliseconds: longer than load
 * balancers keep theirs (60 s).
 */
const KEEP_ALIVE_MS = 65_000;

/** How often unfinished headers are looked at, in milliseconds: one ends within 17 s, whatever its client does. */
const CHECK_INTERVAL_MS = 2000;

/** Most requests of one connection without their answer; browsers do not pipeline at all. */
const UNANSWERED_MAX = 64;

/** How fast bodies must come: 8 KiB/s, a twentieth of a slow mobile network. */
const BODY_PACE: BodyPace = { firstByteMs: 10_000, windowMs: 10_000, windowBytes: 80 * 1024, totalMs: 300_000 };

export interface PublicListenerDeps {
  readonly log: Log;
  readonly app: RequestListener;
  readonly origins: OriginOptions;
  /** Certificate, key and authorities; undefined = plaintext. */
  readonly tls: TlsFiles | undefined;
  readonly metrics: Pick<AccountMetrics, "connectionsOpen" | "connectionRefused">;
}

/** How slow clients may be; for tests. */
export interface ListenerPatience {
  readonly timeouts?: Partial<HttpTimeouts>;
  readonly bodyPace?: BodyPace;
}

/** Builds it. */
export function createPublicListener(
  { log, app, origins, tls, metrics }: PublicListenerDeps,
  settings: Settings,
  patience: ListenerPatience,
): HttpListener {
  const bodyMaxBytes = formMaxBytes(settings.avatarMaxBytes);
  return new HttpListener(
    { log },
    {
      handle: app,
      refuse: (refusal, request) => brokenRequestAnswer(refusal, request, origins),
      wantsBody: ({ headers }: IncomingMessage) => !(Number(headers["content-length"]) > bodyMaxBytes),
    },
    {
      ...settings.http,
      bodyPace: BODY_PACE,
      ...patience,
      timeouts: { checkIntervalMs: CHECK_INTERVAL_MS, ...patience.timeouts },
      tls,
      setting: "PORT",
      what: "HTTP",
      keepAliveMs: KEEP_ALIVE_MS,
      stopGraceMs: settings.shutdownGraceMs,
      requireHost: false, // Node's own refusal has no body; app.ts refuses with one.
      oneAtATime: true,
      unansweredMax: UNANSWERED_MAX,
      isFair: true,
      onOpen: metrics.connectionsOpen,
      onRefused: metrics.connectionRefused,
    },
  );
}
