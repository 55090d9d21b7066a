// Parses replies by which a node of a cluster says that it did not execute a command, and what to
// do instead.
import { parseEndpoint } from "./endpoint.ts";
import type { ClusterEndpoint } from "./endpoint.ts";
import { SLOT_COUNT } from "./hash-slot.ts";

/** The redirection that a node asks for instead of executing a command. */
export type Redirection =
  | {
      /**
       * "moved": the slot belongs to that node from now on. "ask": only this command goes to that
       * node, after ASKING.
       */
      readonly kind: "moved" | "ask";
      readonly slot: number;
      readonly endpoint: ClusterEndpoint;
    }
  /** No node can execute it now; it may be sent again after a moment. */
  | { readonly kind: "later" };

/** `MOVED 3999 127.0.0.1:6381`, `ASK 3999 :6381`. */
const ELSEWHERE = /^(?<kind>MOVED|ASK) (?<slot>\d{1,5}) (?<endpoint>\S*)$/;

/**
 * Replies of a node that did not execute the command and may do so soon: keys of one command on two
 * nodes, a cluster without a majority or with a slot that has no owner, a node that is no longer a
 * primary, or one that is loading its data.
 */
const LATER = /^(?:TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY|LOADING)\b/;

/**
 * Parses the text of an error reply; undefined when it is an error of the command itself.
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
