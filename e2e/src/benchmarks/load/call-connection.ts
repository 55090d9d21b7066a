// One connection of the load generator: sends calls from prebuilt bytes and counts the answers. All
// calls of one turn of the event loop go out in one write.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { CallTemplate } from "@weir/harness/http2/http2-frames";
import {
  FLAG,
  FRAME,
  acknowledgementOf,
  callTemplate,
  createFrameReader,
  openingBytes,
  placesOf,
  windowUpdate,
} from "@weir/harness/http2/http2-frames";

/** Digits of the number in a key: a hundred million different keys. */
const DIGITS = 8;

/** The place in a message that the number of the key takes. */
export const KEY_MARKER = "#".repeat(DIGITS);

/**
 * Received bytes of messages after which the server gets more window: far less than the window, far
 * more than one batch.
 */
const WINDOW_STEP_BYTES = 1 << 28;

/** Size of the buffer that calls are written into, in bytes. */
const BATCH_BYTES = 64 * 1024;

/** Streams remembered at a time; far more than are ever in flight on one connection. */
const RING = 1 << 16;

/** In place of a time: no call waits on the stream. */
const ANSWERED = -1;

/** How many keys a call with this message asks about. */
export function keysPerCall(message: Uint8Array): number {
  return placesOf(KEY_MARKER, Buffer.from(message)).length;
}

/** The message of calls and their server. */
export interface CallTarget {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The encoded request, holding KEY_MARKER once or more where numbers of keys go. */
  readonly message: Uint8Array;
}

/** Receives the results of calls. */
export interface CallListener {
  /**
   * A call was answered with a decision; `code` is its overall code on the wire: 1 within, 2 over
   * the limit.
   */
  answered(code: number, sentMs: number): void;
  /** A call or the whole connection failed; later measurements are void. */
  failed(reason: string): void;
}

/** Opens a connection. */
export async function openCallConnection(target: CallTarget, listener: CallListener): Promise<CallConnection> {
  const socket = connect({ host: target.host, port: target.port, noDelay: true });
  await once(socket, "connect");
  return new CallConnection(socket, target, listener);
}

/** A connection that carries calls. */
export class CallConnection {
  inFlight = 0;
  private readonly socket: Socket;
  private readonly listener: CallListener;
  private readonly later: CallTemplate;
  private template: CallTemplate;
  private nextStreamId = 1;
  /**
   * Time of sending and code of the answer by stream; streams are numbered 1, 3, 5 …, so the index
   * is (id - 1) / 2 in a ring.
   */
  private readonly sentMs = new Float64Array(RING).fill(ANSWERED);
  private readonly codes = new Uint8Array(RING);
  private batch = Buffer.allocUnsafeSlow(BATCH_BYTES);
  private batchLength = 0;
  private receivedBytes = 0;
  private isClosed = false;

  constructor(socket: Socket, target: CallTarget, listener: CallListener) {
    this.socket = socket;
    this.listener = listener;
    const shape = {
      path: target.path,
      authority: `${target.host}:${target.port}`,
      message: target.message,
      marker: KEY_MARKER,
    };
    this.template = callTemplate({ ...shape, isFirst: true });
    this.later = callTemplate({ ...shape, isFirst: false });
    const read = createFrameReader((type, flags, streamId, payload) => this.onFrame(type, flags, streamId, payload));
    socket.on("data", read);
    socket.on("error", (error) => this.fail(error.message));
    socket.on("close", () => this.fail("the server closed the connection"));
    socket.write(openingBytes());
  }

  /**
   * Adds a call about the key with this number and, if its message has more than one place, the
   * keys that follow; `sentMs` comes back with the answer. Goes out with flush().
   */
  call(key: number, sentMs: number): void {
    const { bytes, streamIdAt, digitsAt } = this.template;
    if (this.batchLength + bytes.length > this.batch.length) this.flush();
    const { batch, batchLength: at, nextStreamId } = this;
    bytes.copy(batch, at);
    batch.writeUInt32BE(nextStreamId, at + streamIdAt[0]);
    batch.writeUInt32BE(nextStreamId, at + streamIdAt[1]);
    for (let place = 0; place < digitsAt.length; place++) writeDigits(batch, at + digitsAt[place]!, key + place);
    const index = (nextStreamId >> 1) % RING;
    this.sentMs[index] = sentMs;
    this.codes[index] = 0;
    this.batchLength += bytes.length;
    this.nextStreamId += 2;
    this.inFlight++;
    this.template = this.later;
  }

  /** Writes all calls made since the last time, in one write. */
  flush(): void {
    if (this.batchLength === 0) return;
    this.socket.write(this.batch.subarray(0, this.batchLength));
    // The socket may still hold the old buffer, so the next batch gets a new one when this one was
    // large; small ones share it.
    this.batch = this.batch.subarray(this.batchLength);
    if (this.batch.length < BATCH_BYTES / 4) this.batch = Buffer.allocUnsafeSlow(BATCH_BYTES);
    this.batchLength = 0;
  }

  /** The times of the unanswered calls, as given to call(). */
  waitingSinceMs(): readonly number[] {
    return [...this.sentMs].filter((sentMs) => sentMs !== ANSWERED);
  }

  /** Ends the connection; calls in flight are dropped. */
  close(): void {
    this.isClosed = true;
    this.socket.destroy();
  }

  private onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    const acknowledgement = acknowledgementOf(type, flags, payload);
    if (acknowledgement !== undefined) this.socket.write(acknowledgement);
    if (type === FRAME.DATA) this.onData(streamId, payload);
    if ((type === FRAME.DATA || type === FRAME.HEADERS) && (flags & FLAG.END_STREAM) !== 0) this.finish(streamId);
    else if (type === FRAME.RST_STREAM) this.fail(`the server reset a call with code ${payload.readUInt32BE()}`);
    else if (type === FRAME.GOAWAY) this.fail(`the server sent GOAWAY with code ${payload.readUInt32BE(4)}`);
  }

  private onData(streamId: number, payload: Buffer): void {
    const index = (streamId >> 1) % RING;
    // A long answer comes in several frames, and the code is in the first.
    if (this.codes[index] === 0) this.codes[index] = codeOf(payload);
    this.receivedBytes += payload.length;
    if (this.receivedBytes < WINDOW_STEP_BYTES) return;
    this.socket.write(windowUpdate(this.receivedBytes));
    this.receivedBytes = 0;
  }

  private finish(streamId: number): void {
    const index = (streamId >> 1) % RING;
    const code = this.codes[index]!;
    const sentMs = this.sentMs[index]!;
    this.sentMs[index] = ANSWERED;
    this.inFlight--;
    // An answer without a message carries an error in its trailers; which one does not matter here.
    if (code === 0) this.fail("a call was answered with an error instead of a decision");
    else this.listener.answered(code, sentMs);
  }

  private fail(reason: string): void {
    if (!this.isClosed) this.listener.failed(reason);
  }
}

function writeDigits(bytes: Buffer, at: number, value: number): void {
  for (let digit = DIGITS - 1, rest = value; digit >= 0; digit--, rest = Math.floor(rest / 10))
    bytes[at + digit] = 0x30 + (rest % 10);
}

// A gRPC message of five bytes and more whose first field is overall_code (number 1, varint): 0x08,
// then the code.
function codeOf(payload: Buffer): number {
  return payload.length >= 7 && payload[5] === 0x08 ? payload[6]! : 0;
}
