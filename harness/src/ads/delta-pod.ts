// A pod's end of an incremental ADS stream, over Node's HTTP/2: it keeps what it ACKed, and checks each response.
// Hundreds cost little.
import assert from "node:assert/strict";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import type { SecureContext } from "node:tls";

import { create, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  type Resource,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { HEARTBEAT_TYPE_URL } from "@weir/proto/grpc/heartbeat";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import { grpcMessage } from "../http2/http2-frames.ts";
import { eventually } from "../processes/eventually.ts";
import { HeldSet, HOLDS_NOTHING } from "./held-set.ts";
import { createMessageReader } from "./message-reader.ts";

const { path } = serviceDefinition(AggregatedDiscoveryService).deltaAggregatedResources;

/** A response, and its size without the prefix of gRPC. */
export interface DeltaArrival {
  readonly response: DeltaDiscoveryResponse;
  readonly sizeBytes: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

/** How it connects and answers. */
export interface DeltaPodOptions {
  readonly nodeId?: string;
  readonly metadata?: JsonObject;
  /** Default: plaintext. */
  readonly tls?: SecureContext | undefined;
  /** The set that it holds from another stream, or versions by name. */
  readonly held?: HeldSet | ReadonlyMap<string, string>;
  /** "" is an ACK, another text a NACK; undefined: it does not answer. Default: ACKs everything. */
  readonly answer?: (response: DeltaDiscoveryResponse) => string | undefined;
  /** Names to subscribe to; default: all. */
  readonly names?: readonly string[];
  readonly onAnswered?: () => void;
  /** Its stream has ended, or there was no connection. Not called after `close`. */
  readonly onEnded?: () => void;
}

/** The client; it connects and subscribes immediately. */
export class DeltaPod {
  readonly arrivals: DeltaArrival[] = [];
  /** The resources that it has ACKed. */
  set: HeldSet;
  /** Bytes of its requests, without the prefixes of gRPC. */
  sentBytes = 0;
  /** The status of gRPC with which its stream ended. */
  status: number | undefined;
  readonly #options: DeltaPodOptions;
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #isClosed = false;

  constructor(port: number, options: DeltaPodOptions = {}) {
    this.#options = options;
    const { tls, nodeId = "default", metadata, names = [], held = HOLDS_NOTHING } = options;
    this.set = held instanceof HeldSet ? held : new HeldSet(held);
    const session = connect(`${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`, {
      ...(tls && { secureContext: tls, servername: "localhost" }),
    });
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    [this.#session, this.#stream] = [session, stream];
    for (const part of [session, stream]) part.on("error", () => undefined); // The status says it.
    stream.on("end", () => stream.close()); // A status ends both sides of a gRPC stream.
    stream.on("close", () => {
      session.destroy();
      if (!this.#isClosed) options.onEnded?.();
    });
    for (const event of ["response", "trailers"])
      stream.on(event, ({ "grpc-status": code }) => {
        if (code !== undefined) this.status = Number(code);
      });
    stream.on(
      "data",
      createMessageReader((message) => this.#take(message)),
    );
    const node = { id: nodeId, ...(metadata && { metadata }) };
    this.request({ node, resourceNamesSubscribe: [...names] }, this.set.request);
  }

  /** Versions by name of what it has ACKed. */
  get held(): ReadonlyMap<string, string> {
    return this.set.versions;
  }

  get resources(): ReadonlyMap<string, Resource> {
    return this.set.resources;
  }

  /** The version of what it holds. */
  get version(): string {
    return this.set.version;
  }

  /** True if it holds all that it should have, as the version in its last response says. */
  get isComplete(): boolean {
    return this.set.isComplete;
  }

  /** Sends these fields, and further ones that are serialised already. */
  request(fields: MessageInitShape<typeof DeltaDiscoveryRequestSchema>, further: Uint8Array = Buffer.alloc(0)): void {
    const request = create(DeltaDiscoveryRequestSchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, ...fields });
    const bytes = Buffer.concat([toBinary(DeltaDiscoveryRequestSchema, request), further]);
    this.sentBytes += bytes.length;
    this.#stream.write(grpcMessage(bytes));
  }

  /** Resolves with the response of this number, counted from 1. */
  response(count: number): Promise<DeltaDiscoveryResponse> {
    return eventually(`response ${count}`, () => {
      const arrival = this.arrivals[count - 1];
      if (arrival === undefined) throw new Error(`there are ${this.arrivals.length}, status ${this.status}`);
      return arrival.response;
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#session.destroy();
  }

  #take(message: Buffer): void {
    const { nonce: ownNonce, shared } = this.set.receive(message);
    const response: DeltaDiscoveryResponse = { ...shared.response, nonce: ownNonce };
    if (response.typeUrl === HEARTBEAT_TYPE_URL) return;
    assert.equal(response.typeUrl, RATE_LIMIT_CONFIG_TYPE_URL, "a response has the type of the request");
    assert.notEqual(response.nonce, "", "a response has a nonce");
    assert(!this.arrivals.some(({ response: { nonce } }) => nonce === response.nonce), "a nonce is used once");
    for (const { name, version, resource } of response.resources) {
      assert(name !== "" && version !== "", "a resource has a name and a version");
      assert.equal(resource?.typeUrl, RATE_LIMIT_CONFIG_TYPE_URL, "a resource has the type of its response");
    }
    this.arrivals.push({ response, sizeBytes: message.length, atMs: Date.now() });
    const text = (this.#options.answer ?? (() => ""))(response);
    if (text === undefined) return;
    if (text === "") this.set = shared.after;
    this.request({
      responseNonce: response.nonce,
      ...(text !== "" && { errorDetail: { code: 3, message: text } }),
    });
    this.#options.onAnswered?.();
  }
}
