// The client at the other end of a connection: its address, and what its certificate names.
import type { Socket } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";

import { peerAddress } from "@weir/common/net/listen";

/** A client. */
export interface AdsPeer {
  /** Address and port: `192.0.2.1:4711`, `[2001:db8::1]:4711`; `unknown` when it is gone. */
  readonly address: string;
  /** Undefined: in plaintext. TLS admits none without a certificate. */
  readonly certificate: Pick<PeerCertificate, "subjectaltname"> | undefined;
}

/** The client of a socket that is ready. */
export function peerOf(socket: Socket): AdsPeer {
  return {
    address: peerAddress(socket),
    // The certificate as a whole takes kilobytes for each connection.
    certificate: socket instanceof TLSSocket ? namesOf(socket.getPeerCertificate()) : undefined,
  };
}

/** The address without the port. */
export function addressOf({ address }: AdsPeer): string {
  return address.replace(/:\d+$/, "");
}

function namesOf({ subjectaltname }: PeerCertificate): AdsPeer["certificate"] {
  return subjectaltname === undefined ? {} : { subjectaltname };
}
