// The configuration source over xDS: keeps one ADS stream open, makes its configurations active,
// and reconnects when it breaks.
import { Backoff } from "@weir/common/backoff/backoff";
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { ConfigError } from "../errors.ts";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { ack, type AdsResponse, nack, type ResponseContent, subscription } from "./ads-messages.ts";
import { AdsStream, type OpenObservation, type StreamStart } from "./ads-stream.ts";
import { isServerExpired } from "./connection-failure.ts";
import { HeldResources } from "./delta-messages.ts";
import { timeSlicedLoad } from "../time-sliced-load.ts";
import { ResponseDecoder } from "./response-decoder.ts";
import type { XdsOptions } from "./xds-options.ts";

/** Growth of the waits between attempts to connect, as in gRPC's own connection back-off. */
const CONNECT_BACKOFF_FACTOR = 0.6;

/**
 * Delay of the NACK of a version that was just NACKed, in milliseconds: some servers answer a NACK
 * with the same version immediately.
 */
const NACK_DELAY_MS = 1000;

/** How long after its connection a stream may be without a response, in milliseconds. */
const SILENCE_MS = 5000;

/** NACKs in a row without that delay, for servers that send a new version each time. */
const IMMEDIATE_NACKS_MAX = 10;

/** The state of the server, as far as the source knows it. */
export interface ServerState {
  /** The stream of now has had a response. */
  readonly isConnected: boolean;
  /** The last attempt failed because the server's certificate, or that of its authority, has expired. */
  readonly isCertificateExpired: boolean;
}

/** Dependencies of the source. `random` returns numbers from 0 up to but not including 1. */
export interface XdsSourceDeps {
  readonly listener: ConfigListener;
  readonly random: () => number;
  /** Called at each response, and when a stream or an attempt to connect ends. */
  readonly onState?: ((state: ServerState) => void) | undefined;
  /** Opens what else uses each connection; undefined = nothing does. */
  readonly openObservation?: OpenObservation | undefined;
  readonly log: Log;
}

/** A set that a response leads to. */
interface ConfigsContent {
  readonly kind: "configs";
  readonly configs: readonly RateLimitConfigModel[];
  /** That of the set. */
  readonly version: string;
  /** In the incremental variant. */
  readonly held: HeldResources | undefined;
  /** True if more follows until the server has sent all. */
  readonly isPartial: boolean;
}

/** The content of a response: a set with its version, an error in it, or another type of resource. */
type Content = ConfigsContent | Exclude<ResponseContent, { readonly kind: "configs" }>;

/** The source. */
export class XdsSource implements ConfigSource {
  readonly name = "configuration server client";
  readonly #deps: XdsSourceDeps;
  readonly #options: XdsOptions;
  readonly #connectBackoff: Backoff;
  readonly #streamBackoff: Backoff;
  /** The version of the active configuration; "" before the first. */
  #ackedVersion = "";
  /** The active resources, in the incremental variant. */
  #held = new HeldResources();
  /** Until a server does not know the incremental variant. */
  #isIncremental: boolean;
  #stream: AdsStream | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  /** The content NACKed last on this stream; undefined after an ACK. */
  #nackedContent: string | undefined;
  /** NACKs on this stream since the last ACK. */
  #nacks = 0;
  #nackTimer: NodeJS.Timeout | undefined;
  #silenceTimer: NodeJS.Timeout | undefined;
  /** True once the stream has had a response. */
  #hasResponse = false;
  /** The trouble that was logged and has not ended; its end is logged at the same level. */
  #trouble: "unreachable" | "silent" | undefined;
  readonly #decoder = new ResponseDecoder();
  /** The responses that are being taken. */
  #taken: Promise<void> = Promise.resolve();
  #isNackLogged = false;
  #isConnected = false;
  #isStopped = false;

  constructor(deps: XdsSourceDeps, options: XdsOptions) {
    const { backoff, connectRetryMs } = options;
    this.#deps = { ...deps, log: deps.log.child({ server: options.serverUrl }) };
    this.#options = options;
    this.#isIncremental = options.isIncremental;
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

  /** Reconnects: the server sends its configuration again, and TLS files are read again. */
  reload(): void {
    if (this.#isStopped) return;
    this.#close();
    this.#open();
  }

  #close(): void {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#nackTimer);
    clearTimeout(this.#silenceTimer);
    this.#stream?.close();
  }

  #open(): void {
    this.#isConnected = false;
    this.#hasResponse = false;
    this.#nackedContent = undefined;
    this.#nacks = 0;
    try {
      const start: StreamStart = {
        variant: this.#isIncremental ? "delta" : "sotw",
        request: { ...subscription(this.#ackedVersion), heldVersions: this.#held.versions },
        expectsHeartbeat: this.#stream?.expectsHeartbeat ?? false,
        openObservation: this.#deps.openObservation,
      };
      this.#stream = new AdsStream(this.#options, start, {
        connected: () => {
          this.#isConnected = true;
          this.#deps.log.info("Connected to the configuration server");
          this.#silenceTimer = setTimeout(() => this.#noteSilence(), this.#options.silenceMs ?? SILENCE_MS);
        },
        received: (response) => this.#receive(response),
        ended: (reason, isUnimplemented) => {
          if (isUnimplemented && this.#isIncremental) this.#openSotw();
          else this.#retry(reason);
        },
      });
    } catch (error) {
      this.#stream = undefined;
      this.#retry(describeError(error));
    }
  }

  /** Asks a server without the incremental variant in the other way, from now on. */
  #openSotw(): void {
    this.#isIncremental = false;
    clearTimeout(this.#silenceTimer);
    if (this.#isStopped) return;
    this.#deps.log.warn("The configuration server has no incremental discovery, continuing as GRPC_XDS_SOTW");
    this.#open();
  }

  #retry(reason: string): void {
    if (this.#isStopped) return;
    clearTimeout(this.#nackTimer);
    clearTimeout(this.#silenceTimer);
    const retryInMs = Math.round((this.#isConnected ? this.#streamBackoff : this.#connectBackoff).nextMs());
    const message = this.#isConnected
      ? "Lost the configuration server, retrying"
      : "Cannot connect to the configuration server, retrying";
    this.#deps.log.warn(message, { reason, retryInMs });
    this.#trouble = "unreachable";
    this.#deps.onState?.({ isConnected: false, isCertificateExpired: isServerExpired(reason) });
    this.#retryTimer = setTimeout(() => this.#open(), retryInMs);
  }

  #noteSilence(): void {
    if (this.#hasResponse) return;
    this.#deps.log.warn("Connected to the configuration server, but it has sent nothing yet", {
      waitedMs: this.#options.silenceMs ?? SILENCE_MS,
      nodeId: this.#options.nodeId,
    });
    this.#trouble = "silent";
  }

  /** Only a response shows that the server works: one that fails may accept connections. */
  #noteResponse(): void {
    this.#hasResponse = true;
    this.#deps.onState?.({ isConnected: true, isCertificateExpired: false });
    if (this.#trouble === "unreachable") this.#deps.log.warn("Connected to the configuration server again");
    if (this.#trouble === "silent") this.#deps.log.warn("The configuration server has sent its first response");
    this.#trouble = undefined;
  }

  /** Responses are taken one after the other: an ACK is sent when the rules are active, a NACK names the last ACK. */
  #receive(response: AdsResponse): void {
    this.#connectBackoff.reset();
    this.#streamBackoff.reset();
    this.#noteResponse();
    const stream = this.#stream;
    this.#taken = this.#taken.then(async () => {
      if (stream === this.#stream && !this.#isStopped) await this.#take(response, stream);
    });
  }

  async #take(response: AdsResponse, stream: AdsStream | undefined): Promise<void> {
    const { listener, log } = this.#deps;
    const content = await this.#contentOf(response);
    if (content.kind === "foreign") {
      log.warn("Ignored a response of another type", { typeUrl: content.typeUrl });
      return;
    }
    const invalid =
      content.kind === "invalid"
        ? new ConfigError("CONFIG_INVALID", `configuration server: ${content.reason}`)
        : undefined;
    if (invalid !== undefined) listener.reject(invalid);
    const error = content.kind === "configs" ? await listener.apply(content.configs, content) : invalid;
    if (this.#isStopped) return;
    const isOpen = stream === this.#stream;
    if (content.kind === "configs" && error === undefined) {
      this.#keep(content);
      if (isOpen) this.#ack(response, content);
      else if (this.#stream !== undefined) this.reload(); // That stream has named what was active before.
    } else if (isOpen && error !== undefined) this.#nack(response, error);
  }

  #keep({ version, held }: ConfigsContent): void {
    if (held !== undefined) this.#held = held;
    this.#ackedVersion = version;
  }

  async #contentOf(response: AdsResponse): Promise<Content> {
    if ("versionInfo" in response) {
      const content = await this.#decoder.decode(response);
      return content.kind === "configs"
        ? { ...content, version: response.versionInfo, held: undefined, isPartial: false }
        : content;
    }
    const content = await timeSlicedLoad(this.#held.afterSteps(response));
    if (content.kind !== "configs") return content;
    const { held } = content;
    const { version, configs } = held;
    // Servers with heartbeats are Weir's: their version is that of all that the pod should have.
    const isPartial = this.#stream?.expectsHeartbeat === true && response.systemVersionInfo !== version;
    return { kind: "configs", configs, version, held, isPartial };
  }

  #ack(response: AdsResponse, { version, configs: { length: resources } }: ConfigsContent): void {
    clearTimeout(this.#nackTimer); // That NACK would be out of date.
    this.#nackedContent = undefined;
    // Go-control-plane counts what was in a NACKed response as received: only a new stream with the versions that
    // are held brings the rest. Servers with heartbeats are Weir's, which do not.
    const isOutOfStep = this.#isIncremental && this.#nacks > 0 && this.#stream?.expectsHeartbeat === false;
    this.#nacks = 0;
    this.#stream?.send(ack(version, response));
    this.#deps.log[this.#isNackLogged ? "warn" : "info"]("Successfully loaded new configuration", {
      version,
      resources,
    });
    this.#isNackLogged = false;
    if (isOutOfStep) this.reload();
  }

  #nack(response: AdsResponse, error: ConfigError): void {
    clearTimeout(this.#nackTimer);
    const stream = this.#stream;
    const content = contentKey(response);
    const isRepeated = content === this.#nackedContent;
    this.#nacks += 1;
    const send = (): void => {
      stream?.send(nack(this.#ackedVersion, response, error.message));
      if (isRepeated) return;
      this.#nackedContent = content;
      this.#isNackLogged = true;
      this.#deps.log.error("Error loading new configuration, keeping the active rules", {
        error,
        rejectedVersion: versionIn(response),
        version: this.#ackedVersion,
      });
    };
    if (isRepeated || this.#nacks > IMMEDIATE_NACKS_MAX) this.#nackTimer = setTimeout(send, NACK_DELAY_MS);
    else send();
  }
}

function versionIn(response: AdsResponse): string {
  return "versionInfo" in response ? response.versionInfo : response.systemVersionInfo;
}

/** Equal for responses with the same content. */
function contentKey(response: AdsResponse): string {
  if ("versionInfo" in response) return response.versionInfo;
  return [response.systemVersionInfo, ...response.resources.map(({ name, version }) => `${name} ${version}`)].join(
    "\n",
  );
}
