// Writes the HEADERS frames of answers.
import { Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from "../frames/frame.ts";
import { encodeGrpcMessage } from "../grpc/status.ts";
import type { HpackEncoder } from "../hpack/hpack-encoder.ts";
import type { Output } from "../output/output.ts";

/** Most bytes of the headers before a message: the bound of the encoder's block. */
export const HEADERS_MAX_BYTES: number = FRAME_HEADER_BYTES + 40;

/** Most bytes of the trailers of status OK: the bound of the encoder's block. */
export const OK_TRAILERS_MAX_BYTES: number = FRAME_HEADER_BYTES + 24;

/** Most bytes of a frame with a status, besides its text. */
const STATUS_MAX_BYTES = FRAME_HEADER_BYTES + 160;

/** A status that ends a call. */
export interface FinalStatus {
  readonly status: number;
  readonly message: string;
  /** True if the answer names the encodings of messages that are implemented: none. */
  readonly namesEncodings: boolean;
}

/** The HEADERS frames of one connection, in the order in which they are sent. */
export class HeaderFrames {
  readonly #encoder: HpackEncoder;
  readonly #output: Output;

  constructor(encoder: HpackEncoder, output: Output) {
    this.#encoder = encoder;
    this.#output = output;
  }

  /** Writes the headers before the first message into a chunk, and returns the offset after them. */
  encodeHeaders(streamId: number, chunk: Buffer, start: number): number {
    const end = this.#encoder.responseHeaders(chunk, start + FRAME_HEADER_BYTES);
    return finish(chunk, start, end, Flag.END_HEADERS, streamId);
  }

  /** Writes the trailers of status OK into a chunk, and returns the offset after them. */
  encodeOkTrailers(streamId: number, chunk: Buffer, start: number): number {
    const end = this.#encoder.okTrailers(chunk, start + FRAME_HEADER_BYTES);
    return finish(chunk, start, end, Flag.END_HEADERS | Flag.END_STREAM, streamId);
  }

  /** Sends the headers before the first message. */
  sendHeaders(streamId: number): void {
    const start = this.#output.reserve(HEADERS_MAX_BYTES);
    this.#output.position = this.encodeHeaders(streamId, this.#output.chunk, start);
  }

  /** Sends the trailers of status OK. */
  sendOkTrailers(streamId: number): void {
    const start = this.#output.reserve(OK_TRAILERS_MAX_BYTES);
    this.#output.position = this.encodeOkTrailers(streamId, this.#output.chunk, start);
  }

  /** Sends a status: as trailers, or as the only headers of an answer without a message. */
  sendStatus(streamId: number, isOnly: boolean, { status, message, namesEncodings }: FinalStatus): void {
    const text = encodeGrpcMessage(message);
    const encoder = this.#encoder;
    const start = this.#output.reserve(STATUS_MAX_BYTES + text.length);
    const { chunk } = this.#output;
    let position = encoder.begin(chunk, start + FRAME_HEADER_BYTES);
    if (isOnly) {
      position = encoder.status(chunk, position, 200);
      position = encoder.grpcContentType(chunk, position);
    }
    position = encoder.field(chunk, position, "grpc-status", String(status));
    if (text !== "") position = encoder.field(chunk, position, "grpc-message", text);
    if (namesEncodings) position = encoder.field(chunk, position, "grpc-accept-encoding", "identity");
    this.#output.position = finish(chunk, start, position, Flag.END_HEADERS | Flag.END_STREAM, streamId);
  }

  /** Sends the headers of a text in HTTP; without one they end the stream. */
  sendHttpHeaders(streamId: number, status: number, lengthBytes: number, hasBody: boolean): void {
    const encoder = this.#encoder;
    const start = this.#output.reserve(STATUS_MAX_BYTES);
    const { chunk } = this.#output;
    let position = encoder.begin(chunk, start + FRAME_HEADER_BYTES);
    position = encoder.status(chunk, position, status);
    position = encoder.field(chunk, position, "content-type", "text/plain; charset=utf-8");
    position = encoder.field(chunk, position, "content-length", String(lengthBytes));
    const flags = hasBody ? Flag.END_HEADERS : Flag.END_HEADERS | Flag.END_STREAM;
    this.#output.position = finish(chunk, start, position, flags, streamId);
  }
}

/** Writes the header of a frame whose block ends at `end`, which it returns. */
function finish(chunk: Buffer, start: number, end: number, flags: number, streamId: number): number {
  writeFrameHeader(chunk, start, end - start - FRAME_HEADER_BYTES, FrameType.HEADERS, flags, streamId);
  return end;
}
