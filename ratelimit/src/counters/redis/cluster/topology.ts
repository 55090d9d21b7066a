// Parses the replies to CLUSTER SLOTS and CLUSTER SHARDS: which primary owns which slots. Accepts
// any value and never throws.
import { type ClusterEndpoint, createEndpoint } from "./endpoint.ts";
import { SLOT_COUNT } from "./hash-slot.ts";

/** Most ranges that are accepted: one per slot. */
const RANGES_MAX = SLOT_COUNT;

/** Role of a primary in the reply to CLUSTER SHARDS. */
const PRIMARY = "master";

/** A range of slots and its primary. */
export interface SlotRange {
  readonly first: number;
  /** The last slot of the range, included. */
  readonly last: number;
  readonly endpoint: ClusterEndpoint;
}

/**
 * The host that answered, for nodes that do not know their own, and whether it was asked over TLS.
 */
export interface TopologyContext {
  readonly askedHost: string;
  readonly isTls: boolean;
}

/**
 * The ranges in a reply to CLUSTER SLOTS; undefined when it cannot be read. Ranges whose node has
 * no known name yet are left out.
 */
export function parseSlotsReply(reply: unknown, { askedHost }: TopologyContext): readonly SlotRange[] | undefined {
  if (!isList(reply) || reply.length > RANGES_MAX) return undefined;
  const ranges: SlotRange[] = [];
  for (const entry of reply) {
    if (!isList(entry)) return undefined;
    const [first, last, primary] = entry;
    if (!isSlot(first) || !isSlot(last) || first > last || !isList(primary)) return undefined;
    const [host, port, , metadata] = primary;
    const endpoint = createEndpoint(knownName(host, fieldsOf(metadata)), port, askedHost);
    if (endpoint !== undefined) ranges.push({ first, last, endpoint });
  }
  return ranges;
}

/** The same for a reply to CLUSTER SHARDS, which servers have from version 7 on. */
export function parseShardsReply(reply: unknown, context: TopologyContext): readonly SlotRange[] | undefined {
  if (!isList(reply) || reply.length > RANGES_MAX) return undefined;
  const ranges: SlotRange[] = [];
  for (const shard of reply) {
    const fields = fieldsOf(shard);
    const [slots, nodes] = [fields.get("slots"), fields.get("nodes")];
    if (!isList(slots) || !isList(nodes)) return undefined;
    const endpoint = primaryOf(nodes, context);
    for (let at = 0; at < slots.length; at += 2) {
      const [first, last] = [slots[at], slots[at + 1]];
      if (!isSlot(first) || !isSlot(last) || first > last || ranges.length >= RANGES_MAX) return undefined;
      if (endpoint !== undefined) ranges.push({ first, last, endpoint });
    }
  }
  return ranges;
}

/** The endpoint of the first primary that is not known to have failed. */
function primaryOf(nodes: readonly unknown[], { askedHost, isTls }: TopologyContext): ClusterEndpoint | undefined {
  const primaries = nodes.map(fieldsOf).filter((fields) => fields.get("role") === PRIMARY);
  const primary = primaries.find((fields) => fields.get("health") !== "failed") ?? primaries[0];
  if (primary === undefined) return undefined;
  const port = isTls ? (primary.get("tls-port") ?? primary.get("port")) : primary.get("port");
  return createEndpoint(knownName(primary.get("endpoint"), primary), port, askedHost);
}

/** The announced name or, while that is unknown, the address next to it. */
function knownName(announced: unknown, fields: ReadonlyMap<unknown, unknown>): unknown {
  return announced === "?" ? (fields.get("ip") ?? announced) : announced;
}

/** A flat list of names and values, as the protocol's version 2 writes maps. */
function fieldsOf(list: unknown): ReadonlyMap<unknown, unknown> {
  const fields = new Map<unknown, unknown>();
  if (isList(list)) for (let at = 0; at + 1 < list.length; at += 2) fields.set(list[at], list[at + 1]);
  return fields;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isSlot(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < SLOT_COUNT;
}
