// The configuration server as a source of configuration: keeps one stream open, puts what it offers
// in force, and comes back when it breaks.
import { Backoff } from "@weir/common/backoff/backoff";
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import type { DiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { ConfigError } from "../errors.ts";
import {
  acknowledge,
  type AdsClientState,
  INITIAL_STATE,
  readOffer,
  refuse,
  subscription,
} from "./ads-client-state.ts";
import { type AdsStream, openAdsStream } from "./ads-stream.ts";
import type { XdsOptions } from "./xds-options.ts";

/** Growth of the waits between attempts to connect, as in gRPC's own connection back-off. */
const CONNECT_BACKOFF_FACTOR = 0.6;

/**
 * How long a rejection is held back when the server offers again what was just refused, in
 * milliseconds: some answer each one with the same at once.
 */
const REPEATED_REFUSAL_PAUSE_MS = 1000;

/**
 * Refusals in a row that are told at once; a server that goes on inventing versions is answered at
 * that pace, too.
 */
const REFUSALS_AT_ONCE = 10;

/** What the source needs. `random` gives numbers from 0 up to but not including 1. */
export interface XdsSourceDeps {
  readonly listener: ConfigListener;
  readonly random: () => number;
  readonly log: Log;
}

/** The configuration server as a source. */
export function createXdsSource(deps: XdsSourceDeps, options: XdsOptions): ConfigSource {
  return new XdsSource(deps, options);
}

class XdsSource implements ConfigSource {
  readonly name = "configuration server client";
  readonly #deps: XdsSourceDeps;
  readonly #options: XdsOptions;
  readonly #connectBackoff: Backoff;
  readonly #streamBackoff: Backoff;
  #state: AdsClientState = INITIAL_STATE;
  #stream: AdsStream | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  /**
   * The version that was refused last on this stream; undefined when what came last was accepted.
   */
  #refusedVersion: string | undefined;
  /** Refusals on this stream since something was accepted. */
  #refusals = 0;
  #refusalTimer: NodeJS.Timeout | undefined;
  #isConnected = false;
  #isStopped = false;

  constructor(deps: XdsSourceDeps, options: XdsOptions) {
    const { backoff, connectRetryMs } = options;
    this.#deps = { ...deps, log: deps.log.child({ server: options.serverUrl }) };
    this.#options = options;
    this.#streamBackoff = new Backoff({ ...backoff, random: deps.random });
    this.#connectBackoff = new Backoff({
      initialMs: connectRetryMs,
      maxMs: Math.max(connectRetryMs, backoff.maxMs),
      factor: CONNECT_BACKOFF_FACTOR,
      jitter: backoff.jitter,
      random: deps.random,
    });
  }

  start(): Promise<void> {
    this.#open();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    this.#close();
    return Promise.resolve();
  }

  /** Connects anew: what the server has is offered again, and TLS files are read again. */
  reload(): void {
    if (this.#isStopped) return;
    this.#close();
    this.#open();
  }

  #close(): void {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#refusalTimer);
    this.#stream?.close();
  }

  #open(): void {
    this.#isConnected = false;
    this.#refusedVersion = undefined;
    this.#refusals = 0;
    try {
      this.#stream = openAdsStream(this.#options, subscription(this.#state), {
        connected: () => {
          this.#isConnected = true;
          this.#deps.log.info("connected to the configuration server");
        },
        received: (response) => this.#receive(response),
        ended: (reason) => this.#retry(reason),
      });
    } catch (error) {
      this.#stream = undefined;
      this.#retry(describeError(error));
    }
  }

  #retry(reason: string): void {
    if (this.#isStopped) return;
    clearTimeout(this.#refusalTimer);
    const retryInMs = Math.round((this.#isConnected ? this.#streamBackoff : this.#connectBackoff).nextMs());
    const message = this.#isConnected
      ? "lost the configuration server, retrying"
      : "cannot connect to the configuration server, retrying";
    this.#deps.log.warn(message, { reason, retryInMs });
    this.#retryTimer = setTimeout(() => this.#open(), retryInMs);
  }

  #receive(response: DiscoveryResponse): void {
    this.#connectBackoff.reset();
    this.#streamBackoff.reset();
    const offer = readOffer(response);
    if (offer.kind !== "foreign") clearTimeout(this.#refusalTimer); // What it would answer is out of date.
    switch (offer.kind) {
      case "foreign":
        this.#deps.log.warn("the configuration server sent a type that nobody asked for, ignored", {
          typeUrl: offer.typeUrl,
        });
        return;
      case "invalid": {
        const error = new ConfigError("CONFIG_INVALID", `configuration server: ${offer.reason}`);
        this.#deps.listener.reject(error);
        this.#refuse(response, error);
        return;
      }
      case "configs": {
        const error = this.#deps.listener.apply(offer.configs);
        if (error !== undefined) {
          this.#refuse(response, error);
          return;
        }
        const { state, request } = acknowledge(response);
        this.#state = state;
        this.#refusedVersion = undefined;
        this.#refusals = 0;
        this.#stream?.send(request);
        this.#deps.log.info("Successfully loaded new configuration", {
          version: response.versionInfo,
          resources: offer.configs.length,
        });
      }
    }
  }

  #refuse(response: DiscoveryResponse, error: ConfigError): void {
    const isRepeated = response.versionInfo === this.#refusedVersion;
    this.#refusals += 1;
    const tell = (): void => {
      this.#stream?.send(refuse(this.#state, response, error.message));
      if (isRepeated) return;
      this.#refusedVersion = response.versionInfo;
      this.#deps.log.error("Error loading new configuration, what was in force stays", {
        error,
        rejectedVersion: response.versionInfo,
        version: this.#state.acceptedVersion,
      });
    };
    if (isRepeated || this.#refusals > REFUSALS_AT_ONCE)
      this.#refusalTimer = setTimeout(tell, REPEATED_REFUSAL_PAUSE_MS);
    else tell();
  }
}
