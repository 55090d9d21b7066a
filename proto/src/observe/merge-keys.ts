// Merges the keys of a rule that several pods, or replicas, have counted. Each has those with most counts: a
// key that one lacks may have as many counts there as its last key. Pure.
import { create } from "@bufbuild/protobuf";

import { type FleetKeys, FleetKeysSchema } from "../generated/weir/console/v1/console_pb.ts";
import { type RuleKeys, RuleKeysSchema, type TopKey, TopKeySchema } from "../generated/weir/observe/v1/observe_pb.ts";
import { ruleId } from "./count-series.ts";

/** Most keys of a rule by each order. */
export const KEYS_MAX = 32;

/** Converts the keys of a rule that a pod reports, at most `topKeys` by each order. */
export function keysOfPod(keys: RuleKeys, topKeys: number): FleetKeys {
  const lastOf = (list: readonly TopKey[]): bigint =>
    list.length < topKeys
      ? 0n
      : list.reduce((least, { count }) => (count < least ? count : least), list[0]?.count ?? 0n);
  return create(FleetKeysSchema, {
    keys,
    othersRejectionsMax: lastOf(keys.byRejections),
    othersHitsMax: lastOf(keys.byHits),
  });
}

/** The keys of each rule together, those with most counts. */
export function mergeKeys(counted: readonly FleetKeys[]): readonly FleetKeys[] {
  const groups = Map.groupBy(counted, ({ keys }) => (keys?.rule === undefined ? "" : ruleId(keys.rule)));
  groups.delete("");
  return Array.from(groups.values(), (group) => {
    const all = group.flatMap(({ keys }) => keys ?? []);
    const sinces = all.map(({ sinceSeconds }) => sinceSeconds);
    const sum = (of: (keys: RuleKeys) => bigint): bigint => all.reduce((total, keys) => total + of(keys), 0n);
    const rejections = mergeLists(
      group.map((each) => ({ list: each.keys?.byRejections ?? [], othersMax: each.othersRejectionsMax })),
    );
    const hits = mergeLists(group.map((each) => ({ list: each.keys?.byHits ?? [], othersMax: each.othersHitsMax })));
    const keys = create(RuleKeysSchema, {
      sinceSeconds: sinces.reduce((first, since) => (since < first ? since : first)),
      byRejections: [...rejections.list],
      byHits: [...hits.list],
      rejections: sum((each) => each.rejections),
      hits: sum((each) => each.hits),
      ...(all[0]?.rule && { rule: all[0].rule }),
    });
    return create(FleetKeysSchema, { keys, othersRejectionsMax: rejections.othersMax, othersHitsMax: hits.othersMax });
  });
}

interface KeyList {
  readonly list: readonly TopKey[];
  /** The most that a key can have that is not in the list. */
  readonly othersMax: bigint;
}

function mergeLists(lists: readonly KeyList[]): KeyList {
  const others = lists.reduce((sum, { othersMax }) => sum + othersMax, 0n);
  const sums = new Map<string, { readonly values: TopKey["values"]; count: bigint; error: bigint }>();
  for (const [source, { list, othersMax }] of lists.entries()) {
    // A key that a list repeats counts once: else the sum of its errors may be negative.
    const byId = new Map(list.map((key, index) => [keyId(key, `${source}/${index}`), key]));
    for (const [id, key] of byId) {
      // As if every list lacked it, and then with what this one has.
      const { values } = key;
      const sum = sums.getOrInsertComputed(id, () => ({ values, count: others, error: others }));
      sum.count += key.count - othersMax;
      sum.error += key.error - othersMax;
    }
  }
  const [list, next] = largest([...sums.values()]);
  const cut = next?.count ?? 0n;
  return { list: list.map((sum) => create(TopKeySchema, sum)), othersMax: others > cut ? others : cut };
}

/** The KEYS_MAX items with most counts, most first, and the next one; of equal counts the earlier. */
function largest<Item extends { readonly count: bigint }>(
  items: readonly Item[],
): readonly [list: readonly Item[], next: Item | undefined] {
  const kept: Item[] = [];
  for (const item of items) {
    const last = kept[KEYS_MAX];
    if (last !== undefined && item.count <= last.count) continue;
    const at = kept.findLastIndex(({ count }) => count >= item.count) + 1;
    kept.splice(at, 0, item);
    kept.length = Math.min(kept.length, KEYS_MAX + 1);
  }
  return [kept.slice(0, KEYS_MAX), kept[KEYS_MAX]];
}

/**
 * Equal for equal keys: the lengths of the texts keep them apart. A key with a value that is not shown is like no other:
 * its place identifies it.
 */
function keyId({ values }: TopKey, place: string): string {
  let id = "";
  for (const { key, shown, isCut } of values) {
    const value =
      shown.case === "text" ? shown.value : shown.case === "hash" ? String.fromCharCode(...shown.value) : place;
    id += `${key.length} ${key}${shown.case ?? "place"}${isCut ? " cut " : " "}${value.length} ${value}`;
  }
  return id;
}
