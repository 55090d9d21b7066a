// The configuration server as a source of configuration: keeps one stream open, puts what it offers in force, and comes back when it breaks.
import { type Backoff, createBackoff } from "@weir/common/backoff/backoff";
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
  type RequestContent,
  subscription,
} from "./ads-client-state.ts";
import { type AdsStream, openAdsStream } from "./ads-stream.ts";
import type { XdsOptions } from "./xds-options.ts";

/** Growth of the waits between attempts to connect, as in gRPC's own connection back-off. */
const CONNECT_BACKOFF_FACTOR = 0.6;

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
  #isConnected = false;
  #isStopped = false;

  constructor(deps: XdsSourceDeps, options: XdsOptions) {
    const { backoff, connectRetryMs } = options;
    this.#deps = { ...deps, log: deps.log.child({ server: options.serverUrl }) };
    this.#options = options;
    this.#streamBackoff = createBackoff({ ...backoff, random: deps.random });
    this.#connectBackoff = createBackoff({
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
    clearTimeout(this.#retryTimer);
    this.#stream?.close();
    return Promise.resolve();
  }

  /** Connects anew: what the server has is offered again, and TLS files are read again. */
  reload(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#retryTimer);
    this.#stream?.close();
    this.#open();
  }

  #open(): void {
    this.#isConnected = false;
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
    const retryInMs = Math.round((this.#isConnected ? this.#streamBackoff : this.#connectBackoff).nextMs());
    const message = this.#isConnected ? "lost the configuration server, retrying" : "cannot connect to the configuration server, retrying";
    this.#deps.log.warn(message, { reason, retryInMs });
    this.#retryTimer = setTimeout(() => this.#open(), retryInMs);
  }

  #receive(response: DiscoveryResponse): RequestContent | undefined {
    this.#connectBackoff.reset();
    this.#streamBackoff.reset();
    const offer = readOffer(response);
    switch (offer.kind) {
      case "foreign":
        this.#deps.log.warn("the configuration server sent a type that nobody asked for, ignored", { typeUrl: offer.typeUrl });
        return undefined;
      case "invalid": {
        const error = new ConfigError("CONFIG_INVALID", `configuration server: ${offer.reason}`);
        this.#deps.listener.reject(error);
        return this.#refuse(response, error);
      }
      case "configs": {
        const error = this.#deps.listener.apply(offer.configs);
        if (error !== undefined) return this.#refuse(response, error);
        const { state, request } = acknowledge(response);
        this.#state = state;
        this.#deps.log.info("Successfully loaded new configuration", { version: response.versionInfo, resources: offer.configs.length });
        return request;
      }
    }
  }

  #refuse(response: DiscoveryResponse, error: ConfigError): RequestContent {
    this.#deps.log.error("Error loading new configuration, the previous one stays", {
      error,
      rejectedVersion: response.versionInfo,
      version: this.#state.acceptedVersion,
    });
    return refuse(this.#state, response, error.message);
  }
}
