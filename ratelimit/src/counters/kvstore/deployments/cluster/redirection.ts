// Replies by which a node of a cluster says that a command was not executed, and what to do
// instead. Pure; following them is the matter of cluster-deployment.ts.
import { parseEndpoint } from "./endpoint.ts";
import type { ClusterEndpoint } from "./endpoint.ts";
import { SLOT_COUNT } from "./hash-slot.ts";

/** What a node asks for instead of executing a command. */
export type Redirection =
  | {
      /**
       * "moved": the slot belongs to that node for good. "ask": this once, that node has to be
       * asked with ASKING.
       */
      readonly kind: "moved" | "ask";
      readonly slot: number;
      readonly endpoint: ClusterEndpoint;
    }
  /** Nobody can execute it right now; it may be sent again after a moment. */
  | { readonly kind: "later" };

/** `MOVED 3999 127.0.0.1:6381`, `ASK 3999 :6381`. */
const ELSEWHERE = /^(?<kind>MOVED|ASK) (?<slot>\d{1,5}) (?<endpoint>\S*)$/;

/**
 * Replies of a node that did not execute the command and may do so soon: keys of one command on two
 * nodes, a cluster without a majority or with a hole, a node that is not a primary any more, one
 * that is reading its data.
 */
const LATER = /^(?:TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|LOADING)\b/;

/**
 * What the text of an error reply asks for; undefined when it is an error of the command itself.
 * `askedHost` is the host that sent it.
 */
export function parseRedirection(text: string, askedHost: string): Redirection | undefined {
  if (LATER.test(text)) return { kind: "later" };
  const groups = ELSEWHERE.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const slot = Number(groups["slot"]);
  const endpoint = parseEndpoint(groups["endpoint"] ?? "", askedHost);
  if (slot >= SLOT_COUNT || endpoint === undefined) return undefined;
  return { kind: groups["kind"] === "MOVED" ? "moved" : "ask", slot, endpoint };
}
