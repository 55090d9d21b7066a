// A kubelet for tests, as far as an API server forwards ports through it: TLS, and the WebSocket protocol
// v4.channel.k8s.io as k8s.io/kubelet/pkg/cri/streaming/portforward speaks it. Connects to 127.0.0.1.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";

import { createAuthority } from "@weir/certificates/authority";

/** The constant of RFC 6455, section 1.3. */
const WEBSOCKET_KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const BINARY = 0x82;
const CLOSE = 0x88;

/** A kubelet that runs until it is closed. */
export interface FakeKubelet {
  readonly port: number;
  /** Paths of the requests that came through the API server, with the protocol that each asked for. */
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
}

/** Starts it on a free port of 127.0.0.1. */
export async function startFakeKubelet(): Promise<FakeKubelet> {
  const now = new Date();
  const authority = await createAuthority({ commonName: "kubelet", now, validDays: 1 });
  const leaf = await authority.issue({
    commonName: "node",
    ipAddresses: ["127.0.0.1"],
    usage: "server",
    now,
    validDays: 1,
  });
  const requests: string[] = [];
  const open = new Set<Duplex>();
  const server: Server = createServer({ cert: leaf.certPem, key: leaf.keyPem });
  server.on("upgrade", ({ url = "", headers }, socket: Duplex) => {
    requests.push(`${url.split("?")[0]} ${headers["sec-websocket-protocol"]}`);
    open.add(socket);
    const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${WEBSOCKET_KEY_SUFFIX}`);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept.digest("base64")}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n`,
    );
    serve(socket, Number(new URL(url, "https://kubelet").searchParams.get("port")));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serve(socket: Duplex, port: number): void {
  const send = (channel: number, data: Buffer): void =>
    void socket.write(frame(BINARY, Buffer.concat([Buffer.of(channel), data])));
  const portBytes = Buffer.of(port % 256, Math.floor(port / 256));
  send(0, portBytes);
  send(1, portBytes);
  const end = (): void => void socket.end(frame(CLOSE, Buffer.of(0x03, 0xe8)));
  const target = connect(port, "127.0.0.1");
  target.on("data", (data: Buffer) => send(0, data));
  target.on("end", end);
  target.on("error", (error) => {
    send(1, Buffer.from(`error forwarding port ${port}: ${error.message}`));
    end();
  });
  socket.on("error", () => target.destroy());
  socket.on("close", () => target.destroy());
  let received = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let read = readFrame(received); read !== undefined; read = readFrame(received)) {
      received = received.subarray(read.length);
      if (read.opcode === CLOSE) {
        socket.end(frame(CLOSE, read.payload));
        target.end();
      } else if (read.payload[0] === 0) target.write(read.payload.subarray(1));
    }
  });
}

function frame(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126
      ? Buffer.of(payload.length)
      : Buffer.of(127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((bits) => (payload.length >>> bits) & 0xff));
  return Buffer.concat([Buffer.of(opcode), length, payload]);
}

/** A masked frame at the beginning of the bytes; undefined when it is not complete. */
function readFrame(bytes: Buffer): { opcode: number; payload: Buffer; length: number } | undefined {
  const [opcode, second = 0] = bytes;
  const short = second & 0x7f;
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (opcode === undefined || bytes.length < head + 4) return undefined;
  const size = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const length = head + 4 + size;
  if (bytes.length < length) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const payload = Buffer.from(bytes.subarray(head + 4, length).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  return { opcode, payload, length };
}
