// Checks what a server sends on a connection: whole, sound frames that answer what the client sent,
// within what the client allowed.
import { FieldList } from "@weir/http2/hpack/field-list";
import { HpackDecoder } from "@weir/http2/hpack/hpack-decoder";

import type { ClientBytes } from "./client-bytes.ts";

const FRAME_HEADER_BYTES = 9;
const FRAME_MAX_BYTES = 16_384;
const HTTP1_REFUSAL = "HTTP/1.1 ";

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;

const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;

/**
 * Frames of control that one frame of a client may cause: its answer, WINDOW_UPDATE and a reset.
 * Some more are the server's own: SETTINGS, PING and GOAWAY.
 */
const CONTROL_PER_FRAME = 3;
const CONTROL_OF_SERVER = 8;

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 16_384, tableUpdatesMax: 2 };

/** An answer as far as it was sent. */
interface Answer {
  state: "none" | "headers" | "ended";
  dataBytes: number;
}

/** How an answer ended: with a gRPC status, an HTTP status, or a reset with its error code. */
export interface AnswerEnd {
  readonly kind: "grpc" | "http" | "reset";
  readonly code: number;
}

/** The bytes of the server so far. */
export class ServerBytes {
  /** Error code of the last GOAWAY. */
  goaway: number | undefined;
  /** Whether it refused HTTP/1, in HTTP/1. */
  isHttp1 = false;
  /** PINGs that it has acknowledged. */
  pongs = 0;
  bytes = 0;
  readonly ends = new Map<number, AnswerEnd>();
  readonly #client: ClientBytes;
  readonly #decoder = new HpackDecoder(LIMITS);
  readonly #fields: FieldList;
  readonly #answers = new Map<number, Answer>();
  #frames = 0;
  #controlFrames = 0;
  #settingsAcks = 0;
  #dataBytes = 0;

  /** `fields` is scratch space with the limits of FIELD_LIMITS. */
  constructor(client: ClientBytes, fields: FieldList) {
    this.#client = client;
    this.#fields = fields;
  }

  /** Reads all that was sent in one turn; throws when something is wrong. */
  read(bytes: Buffer): void {
    this.bytes += bytes.length;
    if (this.#frames === 0 && bytes.toString("latin1", 0, HTTP1_REFUSAL.length) === HTTP1_REFUSAL) this.isHttp1 = true;
    if (this.isHttp1) return;
    let at = 0;
    while (at < bytes.length) {
      assert(bytes.length - at >= FRAME_HEADER_BYTES, "the header of a frame is cut off");
      const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      assert(end <= bytes.length, "a frame is cut off");
      assert(end - at <= FRAME_HEADER_BYTES + FRAME_MAX_BYTES, "a frame is too long");
      this.#frame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, bytes.readUInt32BE(at + 5), bytes.subarray(at + 9, end));
      at = end;
    }
  }

  #frame(type: number, flags: number, id: number, payload: Buffer): void {
    assert(this.goaway === undefined || this.goaway === 0, "a frame follows GOAWAY with an error");
    if (this.#frames++ === 0) assert(type === SETTINGS || type === GOAWAY, "the first frame is not SETTINGS");
    if (type === DATA) this.#data(flags, id, payload);
    else if (type === HEADERS) this.#headers(flags, id, payload);
    else {
      this.#controlFrames++;
      const most = CONTROL_PER_FRAME * this.#client.frames + CONTROL_OF_SERVER;
      assert(this.#controlFrames <= most, "more control frames than the client's frames ask for");
      if (type === RST_STREAM) this.#reset(id, payload);
      else this.#control(type, flags, id, payload);
    }
  }

  #data(flags: number, id: number, payload: Buffer): void {
    const answer = this.#answerOf(id);
    assert(answer.state === "headers", "DATA outside of an answer");
    assert((flags & ~END_STREAM) === 0, "DATA with unknown flags");
    answer.dataBytes += payload.length;
    this.#dataBytes += payload.length;
    assert(answer.dataBytes <= this.#client.streamWindowBytes(id), "DATA beyond the window of the stream");
    assert(this.#dataBytes <= this.#client.windowBytes, "DATA beyond the window of the connection");
    if ((flags & END_STREAM) !== 0) answer.state = "ended";
  }

  #headers(flags: number, id: number, payload: Buffer): void {
    const answer = this.#answerOf(id);
    assert(answer.state !== "ended", "HEADERS after the end of an answer");
    assert((flags & ~END_STREAM) === END_HEADERS, "HEADERS with unknown flags, or without END_HEADERS");
    const result = this.#decoder.decode(payload, 0, payload.length, this.#fields);
    assert(result === "ok", "an invalid header block");
    const isFirst = answer.state === "none";
    const isLast = (flags & END_STREAM) !== 0;
    const status = this.#numberOf(":status");
    const grpcStatus = this.#numberOf("grpc-status");
    assert(isFirst ? this.#fields.name(0) === ":status" : status === undefined, "an answer without one :status");
    assert(isFirst || isLast, "trailers without END_STREAM");
    assert(isFirst || grpcStatus !== undefined, "trailers without grpc-status");
    answer.state = isLast ? "ended" : "headers";
    if (grpcStatus !== undefined) this.ends.set(id, { kind: "grpc", code: grpcStatus });
    else if (status !== 200 && status !== undefined) this.ends.set(id, { kind: "http", code: status });
  }

  #reset(id: number, payload: Buffer): void {
    assert(payload.length === 4, "RST_STREAM of a wrong length");
    this.#answerOf(id).state = "ended";
    if (!this.ends.has(id)) this.ends.set(id, { kind: "reset", code: payload.readUInt32BE(0) });
  }

  #control(type: number, flags: number, id: number, payload: Buffer): void {
    switch (type) {
      case SETTINGS:
        assert(id === 0 && payload.length % 6 === 0, "a malformed SETTINGS");
        if ((flags & ACK) === 0) return;
        this.#settingsAcks++;
        assert(payload.length === 0 && this.#settingsAcks <= this.#client.settings, "an acknowledgement too many");
        return;
      case PING:
        assert(id === 0 && payload.length === 8, "a malformed PING");
        if ((flags & ACK) === 0) return;
        this.pongs++;
        assert(this.pongs <= this.#client.pings, "a PING that was not sent is acknowledged");
        return;
      case GOAWAY:
        assert(id === 0 && payload.length >= 8, "a malformed GOAWAY");
        this.goaway = payload.readUInt32BE(4);
        return;
      case WINDOW_UPDATE:
        assert(payload.length === 4 && payload.readUInt32BE(0) > 0, "a malformed WINDOW_UPDATE");
        assert(id === 0 || this.#client.opened.has(id), "WINDOW_UPDATE of a stream that was not opened");
        return;
      default:
        throw new Error(`Wrong bytes of the server: a frame of type ${type}`);
    }
  }

  #answerOf(id: number): Answer {
    assert(this.#client.opened.has(id), "an answer to a stream that was not opened");
    let answer = this.#answers.get(id);
    if (answer === undefined) this.#answers.set(id, (answer = { state: "none", dataBytes: 0 }));
    return answer;
  }

  #numberOf(name: string): number | undefined {
    for (let index = 0; index < this.#fields.count; index++)
      if (this.#fields.name(index) === name) return Number(this.#fields.value(index));
    return undefined;
  }
}

/** Scratch space for any number of ServerBytes. */
export function newFieldList(): FieldList {
  return new FieldList(LIMITS);
}

function assert(isTrue: boolean, fault: string): asserts isTrue {
  if (!isTrue) throw new Error(`Wrong bytes of the server: ${fault}`);
}
