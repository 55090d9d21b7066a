// A small DNS server on UDP for tests: answers SRV questions from a table, and everything else that
// there is no such name. RFC 1035 and RFC 2782.
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";

const TYPE_SRV = 33;
const CLASS_IN = 1;
const TTL_SECONDS = 1;

/** Bits of a header: an answer, with authority; and the code for a name that does not exist. */
const FLAGS_ANSWER = 0x8400;
const CODE_NO_NAME = 3;

const HEADER_BYTES = 12;

export interface SrvRecord {
  readonly target: string;
  readonly port: number;
}

/** A running server. */
export class DnsServer {
  /** The records that it answers, by name without the dot at the end. */
  readonly records = new Map<string, readonly SrvRecord[]>();
  /** Names that were asked for. */
  readonly questions: string[] = [];
  readonly #socket: Socket = createSocket("udp4");

  /** Starts it on a free port of 127.0.0.1. */
  async start(): Promise<void> {
    this.#socket.on("message", (message, from) => this.#answer(message, from));
    this.#socket.bind(0, "127.0.0.1");
    await once(this.#socket, "listening");
  }

  /** The address on which it listens, as a resolver wants it. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  /** Ends it. */
  close(): void {
    this.#socket.close();
  }

  #answer(message: Buffer, from: RemoteInfo): void {
    const { name, end } = readName(message);
    this.questions.push(name);
    const records = message.readUInt16BE(end) === TYPE_SRV ? (this.records.get(name) ?? []) : [];
    const header = Buffer.alloc(HEADER_BYTES);
    message.copy(header, 0, 0, 2); // The number of the question.
    header.writeUInt16BE(FLAGS_ANSWER | (records.length === 0 ? CODE_NO_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    const question = message.subarray(HEADER_BYTES, end + 4);
    this.#socket.send(
      Buffer.concat([header, question, ...records.map((record) => answerOf(name, record))]),
      from.port,
      from.address,
    );
  }
}

function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

function answerOf(name: string, { target, port }: SrvRecord): Buffer {
  const data = Buffer.concat([numbers(0, 0, port), nameBytes(target)]); // Priority, weight, port, target.
  return Buffer.concat([nameBytes(name), numbers(TYPE_SRV, CLASS_IN, 0, TTL_SECONDS, data.length), data]);
}

function nameBytes(name: string): Buffer {
  return Buffer.concat([
    ...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label, "latin1")])),
    Buffer.of(0),
  ]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
}
