// Reads the bytes of a server for tests, and puts them into words.
import { FLAG, FRAME, FrameReader } from "@weir/harness/http2/http2-frames";
import { FieldList } from "../hpack/field-list.ts";
import { HpackDecoder } from "../hpack/hpack-decoder.ts";

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 65_536, tableUpdatesMax: 2 };

const HTTP1_ANSWER = "HTTP/1.1 ";

/** Scratch space of every reader. */
const FIELDS = new FieldList(LIMITS);

/** One frame of the server. */
export interface ReceivedFrame {
  readonly type: string;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
  /** Header fields, of HEADERS. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The error code, of RST_STREAM and GOAWAY. */
  readonly code?: number;
}

/** The bytes of one server. */
export class ServerReader {
  readonly #decoder = new HpackDecoder(LIMITS);
  readonly #reader = new FrameReader((...frame) => void this.#frames.push(this.#frame(...frame)));
  #frames: ReceivedFrame[] = [];
  /** True if the server refuses HTTP/1, in HTTP/1. */
  isHttp1 = false;

  /** Bytes of a frame that is not complete. */
  get restBytes(): number {
    return this.#reader.rest.length;
  }

  /** Returns the frames that are complete with these bytes. */
  read(bytes: Buffer): readonly ReceivedFrame[] {
    this.isHttp1 ||= bytes.toString("latin1", 0, HTTP1_ANSWER.length) === HTTP1_ANSWER;
    this.#frames = [];
    if (this.isHttp1) return [];
    this.#reader.read(bytes);
    return this.#frames;
  }

  #frame(code: number, flags: number, streamId: number, payload: Buffer): ReceivedFrame {
    const type = Object.entries(FRAME).find(([, value]) => value === code)?.[0] ?? `type ${code}`;
    const frame = { type, flags, streamId, payload };
    if (type === "RST_STREAM" && payload.length === 4) return { ...frame, code: payload.readUInt32BE(0) };
    if (type === "GOAWAY" && payload.length >= 8) return { ...frame, code: payload.readUInt32BE(4) };
    return type === "HEADERS" ? { ...frame, fields: this.#decode(payload) } : frame;
  }

  #decode(block: Buffer): Readonly<Record<string, string>> {
    const result = this.#decoder.decode(block, 0, block.length, FIELDS);
    if (result !== "ok") throw new Error(`Cannot decode the headers of the server: ${this.#decoder.fault}`);
    return Object.fromEntries(
      Array.from({ length: FIELDS.count }, (_, index) => [FIELDS.name(index), FIELDS.value(index)]),
    );
  }
}

/** Describes the frames of the server: one line for each. */
export function summarize(frames: readonly ReceivedFrame[]): readonly string[] {
  return frames.map(({ type, flags, streamId, payload, fields, code }) => {
    const last = (flags & FLAG.END_STREAM) !== 0 ? " end" : "";
    switch (type) {
      case "HEADERS":
        return `HEADERS ${streamId}${last} ${describeFields(fields ?? {})}`;
      case "DATA":
        return `DATA ${streamId}${last} ${payload.length}`;
      case "RST_STREAM":
        return `RST_STREAM ${streamId} ${code ?? 0}`;
      case "GOAWAY":
        return `GOAWAY ${payload.readUInt32BE(0)} ${code ?? 0} ${payload.toString("latin1", 8)}`.trimEnd();
      case "WINDOW_UPDATE":
        return `WINDOW_UPDATE ${streamId} ${payload.readUInt32BE(0)}`;
      default:
        return `${type}${(flags & FLAG.ACK) !== 0 ? " ack" : ""}`;
    }
  });
}

function describeFields(fields: Readonly<Record<string, string>>): string {
  const { ":status": status, "grpc-status": grpcStatus, "grpc-message": grpcMessage } = fields;
  const parts = [status, grpcStatus === undefined ? undefined : `grpc-status ${grpcStatus}`, grpcMessage];
  return parts.filter((part) => part !== undefined).join(" ");
}
