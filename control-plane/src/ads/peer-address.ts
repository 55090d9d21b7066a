// The address of a client. Pure.
import type { ServerDuplexStream } from "@grpc/grpc-js";
import { formatAddress } from "@weir/common/net/listen";

/** How a listener for both families shows a client of IPv4 (RFC 4291, section 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.)/i;

/** A call, as far as its client matters. */
export type PeerCall = Pick<ServerDuplexStream<unknown, unknown>, "getPeer">;

/** Address and port of the client: `192.0.2.1:4711`, `[2001:db8::1]:4711`; `unknown` when it is gone. */
export function peerOf(call: PeerCall): string {
  // grpc-js writes no brackets.
  const peer = call.getPeer();
  const [, host, port] = /^(.+):(\d+)$/.exec(peer) ?? [];
  return host === undefined ? peer : formatAddress({ host: host.replace(MAPPED, ""), port: Number(port) });
}

/** The same without the port. */
export function addressOf(call: PeerCall): string {
  return peerOf(call).replace(/:\d+$/, "");
}
