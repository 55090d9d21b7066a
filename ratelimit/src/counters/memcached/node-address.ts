// Parses the address of a node, one word of ALTSTORE_HOST_PORT.

/** Highest TCP port. */
const PORT_MAX = 65_535;

/** `host:port`, `[::1]:port` or `:port`. */
const HOST_PORT = /^(?:\[(?<six>[0-9a-fA-F:.%]+)\]|(?<host>[^:[\]/@\s]*)):(?<port>\d{1,5})$/;

/** A node. */
export type NodeAddress =
  | { readonly kind: "unix"; readonly path: string; readonly text: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number; readonly text: string };

/**
 * The address, or undefined when the word is not one. A word with a "/" is the path of a unix socket.
 */
export function parseNodeAddress(word: string): NodeAddress | undefined {
  if (word.includes("/")) return { kind: "unix", path: word, text: word };
  const groups = HOST_PORT.exec(word)?.groups;
  const port = Number(groups?.["port"]);
  if (groups === undefined || port < 1 || port > PORT_MAX) return undefined;
  const host = groups["six"] ?? groups["host"] ?? "";
  return { kind: "tcp", host: host === "" ? "localhost" : host, port, text: word };
}
