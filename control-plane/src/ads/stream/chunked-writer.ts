// Writes a message in chunks to a gRPC stream without joining them. The one file that uses
// internals of grpc-js, which offers no way to write a message without a copy.
import type { ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";

import { Metadata, type ServerDuplexStream } from "@grpc/grpc-js";

/** Bytes in front of a gRPC message: the compression flag and the length. */
const PREFIX_BYTES = 5;

/** Most bytes per write: TLS connections of Node keep memory for the largest write for good. */
const SLICE_BYTES = 64 * 1024;

/** What grpc-js sends when nothing is set. */
const NO_METADATA = new Metadata();

/** Sends a message; its chunks must not change until `written`: the system has all of them. */
export type WriteChunks = (chunks: readonly Buffer[], written: () => void) => void;

/**
 * The writer for the messages of a call. For a snapshot of megabytes and a thousand streams, copies
 * are gigabytes of short-lived buffers, which cost more to collect than to send. Like grpc-js it
 * calls nothing when the stream ends before; an end waits for the message that is being written.
 */
export function chunkedWriter<Request>(call: ServerDuplexStream<Request, Buffer>): WriteChunks {
  const stream = http2StreamOf(call);
  if (stream === undefined) {
    return (chunks, written) => {
      call.write(Buffer.concat(chunks), written);
    };
  }
  const writable: Writable = call;
  // Replaces the serialisation of grpc-js only: order, `end` and errors stay the stream's own. An
  // end that grpc-js makes by itself, such as after a deadline, does not wait.
  writable._write = (chunks: readonly Buffer[], _encoding, done) => {
    call.sendMetadata(NO_METADATA); // Has an effect before the first message only.
    writeSlices(stream, [prefixOf(chunks), ...chunks].flatMap(slicesOf), done);
  };
  return (chunks, written) => {
    writable.write(chunks, written);
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

/** The HTTP/2 stream of a call; undefined where grpc-js does not keep it as version 1.14 does. */
export function http2StreamOf(call: object): ServerHttp2Stream | undefined {
  const { stream } = (call as { readonly call?: { readonly stream?: Partial<ServerHttp2Stream> } }).call ?? {};
  const isHttp2Stream = typeof stream?.respond === "function" && typeof stream.write === "function";
  return isHttp2Stream ? (stream as ServerHttp2Stream) : undefined;
}

function prefixOf(chunks: readonly Buffer[]): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  prefix.writeUInt32BE(length, 1);
  return prefix;
}

function slicesOf(chunk: Buffer): Buffer[] {
  return Array.from({ length: Math.ceil(chunk.length / SLICE_BYTES) }, (_, index) =>
    chunk.subarray(index * SLICE_BYTES, (index + 1) * SLICE_BYTES),
  );
}
