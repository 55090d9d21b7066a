// Writes a message that is in pieces to a gRPC stream without joining them. grpc-js copies every
// message into a buffer of its own; for a snapshot of megabytes and a thousand streams that is
// gigabytes of short-lived buffers, and collecting them costs more than sending. The pieces are
// handed to HTTP/2 as they are.
import type { ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";

import { Metadata, type ServerDuplexStream } from "@grpc/grpc-js";

/** Bytes in front of a gRPC message: whether it is compressed, and its length. */
const PREFIX_BYTES = 5;

/**
 * Most bytes that are handed over at a time: a TLS connection of Node keeps as much memory for good
 * as it was ever given at once.
 */
const SLICE_BYTES = 64 * 1024;

/** What grpc-js sends when nothing is set. */
const NO_METADATA = new Metadata();

/**
 * Sends one message, whose pieces must not be changed before `written` is called: it is when the
 * system has taken in all of them.
 */
export type SendPieces = (pieces: readonly Buffer[], written: () => void) => void;

/**
 * Makes what sends the messages of a stream. Like grpc-js it calls nothing when the stream ends
 * before; an end waits for the message that is under way.
 */
export function createPieceSender<Request>(call: ServerDuplexStream<Request, Buffer>): SendPieces {
  const stream = http2StreamOf(call);
  if (stream === undefined) {
    return (pieces, written) => {
      call.write(Buffer.concat(pieces), written);
    };
  }
  const writable: Writable = call;
  // An end that grpc-js makes of its own accord, as when a deadline is over, does not wait.
  writable._write = (pieces: readonly Buffer[], _encoding, done) => {
    call.sendMetadata(NO_METADATA); // Only the first time: messages need it before them.
    writeSlices(stream, [prefixOf(pieces), ...pieces].flatMap(slicesOf), done);
  };
  return (pieces, written) => {
    writable.write(pieces, written);
  };
}

function writeSlices(stream: ServerHttp2Stream, slices: readonly Buffer[], done: () => void): void {
  const left = slices.values();
  const writeNext = (error?: Error | null): void => {
    if (error || stream.closed || stream.destroyed || stream.writableEnded) return;
    const { value: slice } = left.next();
    if (slice === undefined) done();
    else stream.write(slice, writeNext);
  };
  writeNext();
}

/**
 * The HTTP/2 stream under a call, which grpc-js keeps to itself; undefined when it is not where
 * grpc-js 1.14 has it, and the message is copied then.
 */
export function http2StreamOf(call: object): ServerHttp2Stream | undefined {
  const { stream } = (call as { readonly call?: { readonly stream?: Partial<ServerHttp2Stream> } }).call ?? {};
  const isHttp2Stream = typeof stream?.respond === "function" && typeof stream.write === "function";
  return isHttp2Stream ? (stream as ServerHttp2Stream) : undefined;
}

function prefixOf(pieces: readonly Buffer[]): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(
    pieces.reduce((sum, { length }) => sum + length, 0),
    1,
  );
  return prefix;
}

function slicesOf(piece: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(piece.length / SLICE_BYTES) }, (_, index) =>
    piece.subarray(index * SLICE_BYTES, (index + 1) * SLICE_BYTES),
  );
}
