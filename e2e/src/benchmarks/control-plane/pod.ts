// One simulated pod: a connection with one ADS stream in prepared HTTP/2 frames that ACKs responses,
// or NACKs the first ones by name, and decodes none. Without its stream it backs off and goes to the next replica.
import { connect, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import { createResponseReader, type SeenResponse } from "./response.ts";
import {
  acknowledgementOf,
  callHeaders,
  createFrameReader,
  FLAG,
  FRAME,
  messageFrame,
  openingBytes,
  windowUpdate,
} from "@weir/harness/http2/http2-frames";

/** The one stream of a connection. */
const STREAM_ID = 1;

const PATH = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources.path;

/** A response that a pod has received. */
export interface Arrival {
  readonly version: string;
  readonly sizeBytes: number;
  /** When the acceptance was written, in milliseconds since the epoch. */
  readonly atMs: number;
  /** The back-off of the pod since the response before, in milliseconds. */
  readonly waitedMs: number;
}

/** The replicas of pods and how to connect to them. */
export interface PodTargets {
  readonly host: string;
  /** Ports of the replicas; a lost pod connects to the next one. */
  readonly ports: readonly number[];
  /** Undefined: plaintext. */
  readonly tls: SecureContext | undefined;
  /** How much a replica may send before it is given more window, at least 65,535. */
  readonly windowBytes: number;
  /** Shortest and longest back-off, in milliseconds. */
  readonly backoffMs: readonly [number, number];
}

/** A pod; open() connects it. */
export class BenchmarkPod {
  /** Every response that it ACKed so far. */
  readonly arrivals: Arrival[] = [];
  readonly #nodeId: string;
  readonly #targets: PodTargets;
  readonly #onArrival: () => void;
  /** Names of the resources that it will NACK, one by one. */
  readonly #rejects: string[];
  #attempts = 0;
  #waitedMs = 0;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Calls `onArrival` for every response that it ACKs, which are those after it NACKed `rejects`. */
  constructor(nodeId: string, targets: PodTargets, rejects: readonly string[], onArrival: () => void) {
    this.#rejects = [...rejects];
    this.#nodeId = nodeId;
    this.#targets = targets;
    this.#onArrival = onArrival;
  }

  /** Connects to the next replica. */
  open(): void {
    const { host, ports, tls } = this.#targets;
    const port = ports[this.#attempts % ports.length]!;
    this.#attempts += 1;
    const socket =
      tls === undefined
        ? connect({ host, port, noDelay: true })
        : connectTls({ host, port, secureContext: tls, servername: "localhost", ALPNProtocols: ["h2"] });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.once(tls === undefined ? "connect" : "secureConnect", () => this.#begin(socket, `${host}:${port}`));
    socket.on("error", () => socket.destroy()); // "close" follows.
    socket.once("close", () => this.#lost());
  }

  /** Disconnects it for good. */
  close(): void {
    clearTimeout(this.#timer);
    this.#socket?.removeAllListeners("close").destroy();
  }

  #begin(socket: Socket, authority: string): void {
    const request = {
      typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
      node: { id: this.#nodeId },
      versionInfo: this.arrivals.at(-1)?.version ?? "",
    };
    const { windowBytes } = this.#targets;
    socket.write(
      Buffer.concat([
        openingBytes(windowBytes),
        callHeaders(PATH, authority),
        messageFrame(STREAM_ID, encodeRequest(request)),
      ]),
    );
    const readResponse = createResponseReader((response) => this.#accept(socket, response));
    let receivedBytes = 0;
    const readFrame = createFrameReader((type, flags, _streamId, payload) => {
      if (type === FRAME.DATA) {
        readResponse(payload);
        receivedBytes += payload.length;
      }
      const acknowledgement = acknowledgementOf(type, flags, payload);
      if (acknowledgement !== undefined) socket.write(acknowledgement);
      const isOver = (type === FRAME.DATA || type === FRAME.HEADERS) && (flags & FLAG.END_STREAM) !== 0;
      if (isOver || type === FRAME.RST_STREAM || type === FRAME.GOAWAY) socket.destroy();
    });
    socket.on("data", (chunk: Buffer) => {
      readFrame(chunk);
      if (receivedBytes < windowBytes / 2) return;
      socket.write(Buffer.concat([windowUpdate(receivedBytes), windowUpdate(receivedBytes, STREAM_ID)]));
      receivedBytes = 0;
    });
  }

  #accept(socket: Socket, { version, nonce, sizeBytes }: SeenResponse): void {
    const rejected = this.#rejects.shift();
    const answer =
      rejected === undefined
        ? { versionInfo: version }
        : { errorDetail: { code: 0, message: `${rejected}: unknown field` } };
    const request = { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, responseNonce: nonce, ...answer };
    socket.write(messageFrame(STREAM_ID, encodeRequest(request)));
    if (rejected !== undefined) return;
    this.arrivals.push({ version, sizeBytes, atMs: Date.now(), waitedMs: this.#waitedMs });
    this.#waitedMs = 0;
    this.#onArrival();
  }

  #lost(): void {
    const [shortestMs, longestMs] = this.#targets.backoffMs;
    const backoffMs = shortestMs + Math.random() * (longestMs - shortestMs);
    const sinceMs = performance.now();
    this.#timer = setTimeout(() => {
      // The back-off is the time that the timer really took.
      this.#waitedMs += performance.now() - sinceMs;
      this.open();
    }, backoffMs);
  }
}

function encodeRequest(request: MessageInitShape<typeof DiscoveryRequestSchema>): Uint8Array {
  return toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, request));
}
