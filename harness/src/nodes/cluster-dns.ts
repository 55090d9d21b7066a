// The DNS server of a test cluster: answers A queries for Services, as CoreDNS does. A test can make it late.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

/** The domain of a cluster. */
export const CLUSTER_DOMAIN = "cluster.local";

/** Seconds that clients may keep an answer. CoreDNS: 5. */
const TTL_SECONDS = 5;

/** RFC 1035: flags of an answer with authority and recursion, and the codes. */
const ANSWER_FLAGS = 0x85_80;
const NO_SUCH_NAME = 3;
const TYPE_A = 1;
const HEADER_BYTES = 12;

/** The addresses of a name; undefined when it does not exist. */
type Lookup = (name: string) => readonly string[] | undefined;

/** Starts it at the address, on port 53. */
export async function startClusterDns(address: string, lookup: Lookup): Promise<ClusterDns> {
  const socket = createSocket("udp4");
  socket.bind({ port: 53, address });
  await once(socket, "listening");
  return new ClusterDns(socket, address, lookup);
}

/** A running DNS server. */
export class ClusterDns {
  /** How late it answers, in milliseconds. */
  delayMs = 0;
  /** Questions so far. */
  questions = 0;
  readonly address: string;
  readonly #socket: Socket;
  #isClosed = false;

  constructor(socket: Socket, address: string, lookup: Lookup) {
    this.address = address;
    this.#socket = socket;
    socket.on("message", (query, peer) => {
      this.questions += 1;
      const answer = answerOf(query, lookup);
      void delay(this.delayMs).then(() => {
        if (!this.#isClosed) socket.send(answer, peer.port, peer.address);
      });
    });
  }

  /** Closes it; late answers are not sent. */
  close(): void {
    this.#isClosed = true;
    this.#socket.close();
  }
}

function answerOf(query: Buffer, lookup: Lookup): Buffer {
  let at = HEADER_BYTES;
  const labels: string[] = [];
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  const question = query.subarray(HEADER_BYTES, at + 5);
  const addresses = lookup(labels.join("."));
  const found = query.readUInt16BE(at + 1) === TYPE_A ? (addresses ?? []) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(ANSWER_FLAGS | (addresses === undefined ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(found.length, 6);
  return Buffer.concat([header, question, ...found.map(recordOf)]);
}

function recordOf(address: string): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc0_0c, 0); // The name of the question.
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4); // Class IN.
  record.writeUInt32BE(TTL_SECONDS, 6);
  record.writeUInt16BE(4, 10);
  for (const [index, byte] of address.split(".").entries()) record[12 + index] = Number(byte);
  return record;
}
