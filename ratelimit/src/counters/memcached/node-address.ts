// Parses the address of a node, one word of ALTSTORE_HOST_PORT.
import { parseHostPort } from "@weir/common/net/host-port";

export type NodeAddress =
  | { readonly kind: "unix"; readonly path: string; readonly text: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly text: string };

/**
 * The address, or undefined when the word is not one. A word with a "/" is the path of a unix socket.
 */
export function parseNodeAddress(word: string): NodeAddress | undefined {
  if (word.includes("/")) return { kind: "unix", path: word, text: word };
  const { host = "localhost", port = 0 } = parseHostPort(word) ?? {};
  return port === 0 ? undefined : { kind: "tcp", host, port, text: word };
}
