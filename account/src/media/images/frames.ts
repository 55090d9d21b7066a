// The frames between the service and its image process: a length of four bytes, then the payload. The
// service trusts nothing of what comes back, because the sender has decoded a stranger's file.
import { type CleanImage, IMAGE_FORMATS, IMAGE_PROBLEMS, type ImageFormat, type ImageResult } from "../image.ts";

/** Largest file that is sent, in bytes: the upper bound of AVATAR_MAX_BYTES. */
export const FILE_MAX_BYTES = 33_554_432;

const LENGTH_BYTES = 4;

/** Bytes of a reply in front of the image: kind, format, width, height. */
export const REPLY_HEAD_BYTES = 6;

/** First byte of each kind of reply. */
const KINDS = { ready: 0, image: 1, problem: 2 } as const;

const FORMATS = Object.keys(IMAGE_FORMATS) as readonly ImageFormat[];

/** A message of the image process: it has loaded, or the result of a file. */
export type Reply = { readonly kind: "ready" } | { readonly kind: "result"; readonly result: ImageResult };

/** The bytes of a frame, in pieces to be written one after the other. */
export function encodeFrame(...payload: readonly Buffer[]): readonly Buffer[] {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(payload.reduce((sum, { length: bytes }) => sum + bytes, 0));
  return [length, ...payload];
}

/** The frame of a reply, in pieces. */
export function encodeReply(reply: Reply): readonly Buffer[] {
  if (reply.kind === "ready") return encodeFrame(Buffer.from([KINDS.ready]));
  const { result } = reply;
  if (!result.ok) return encodeFrame(Buffer.from([KINDS.problem, IMAGE_PROBLEMS.indexOf(result.problem)]));
  const { format, width, height, bytes } = result.image;
  const head = Buffer.from([KINDS.image, FORMATS.indexOf(format), 0, 0, 0, 0]);
  head.writeUInt16BE(width, 2);
  head.writeUInt16BE(height, 4);
  return encodeFrame(head, bytes);
}

/** The reply in a payload, or undefined when it is none. */
export function decodeReply(payload: Buffer): Reply | undefined {
  const [kind, detail = 0] = payload;
  if (kind === KINDS.ready && payload.length === 1) return { kind: "ready" };
  const problem = IMAGE_PROBLEMS[detail];
  if (kind === KINDS.problem && payload.length === 2 && problem !== undefined)
    return { kind: "result", result: { ok: false, problem } };
  const format = FORMATS[detail];
  if (kind !== KINDS.image || format === undefined || payload.length <= REPLY_HEAD_BYTES) return undefined;
  const image: CleanImage = {
    format,
    width: payload.readUInt16BE(2),
    height: payload.readUInt16BE(4),
    bytes: payload.subarray(REPLY_HEAD_BYTES),
  };
  return { kind: "result", result: { ok: true, image } };
}

/** Collects bytes to frames. */
export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #heldBytes = 0;

  /** Payloads have at most `maxBytes`. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Adds bytes, and returns the payloads that are complete with them. Throws a RangeError for a
   * length over the limit; the reader is of no use then.
   */
  push(chunk: Buffer): readonly Buffer[] {
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    const payloads: Buffer[] = [];
    for (let length = this.#nextLength(); length !== undefined; length = this.#nextLength()) {
      if (this.#heldBytes < LENGTH_BYTES + length) break;
      const held = this.#joined();
      payloads.push(held.subarray(LENGTH_BYTES, LENGTH_BYTES + length));
      const rest = held.subarray(LENGTH_BYTES + length);
      this.#chunks = [rest];
      this.#heldBytes = rest.length;
    }
    return payloads;
  }

  /** The length of the frame that has begun, or undefined when it is not known yet. */
  #nextLength(): number | undefined {
    if (this.#heldBytes < LENGTH_BYTES) return undefined;
    const first = this.#chunks[0];
    const length = (first === undefined || first.length < LENGTH_BYTES ? this.#joined() : first).readUInt32BE();
    if (length > this.#maxBytes)
      throw new RangeError(`Cannot read a frame of ${length} bytes: at most ${this.#maxBytes}`);
    return length;
  }

  #joined(): Buffer {
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }
}
