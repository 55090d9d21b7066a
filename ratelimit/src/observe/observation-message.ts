// Converts what a pod has observed to messages for the control plane. Pure.
import { createHmac } from "node:crypto";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type KeyValueSchema,
  KeyValues,
  ObservationSchema,
  type ObserveRequest,
  ObserveRequestSchema,
  type RuleKeys,
  RuleKeysSchema,
  type RuleSeries,
  RuleSeriesSchema,
  type TopKeySchema,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import type { KeyValuesMode } from "./observed-pod.ts";
import type { Observed, ObservedRule } from "./observed.ts";
import type { KeyLevel, RuleKey, RuleKeyCounts } from "./rule-keys.ts";
import type { KeyCount } from "./space-saving.ts";

/** Largest message, in bytes. */
export const MESSAGE_MAX_BYTES = 256 * 1024;

/** Largest number of a series on the wire. */
const UINT32_MAX = 0xffffffff;

/** Bytes of a hash: enough to tell the keys of a fleet apart. */
const HASH_BYTES = 8;

/** Most hashes that are kept, because the keys of one second are mostly those of the next. */
const HASHES_MAX = 4096;

/** The names of the modes on the wire. */
export const KEY_VALUES = {
  hash: KeyValues.HASH,
  clear: KeyValues.CLEAR,
  off: KeyValues.OFF,
} as const satisfies Record<KeyValuesMode, KeyValues>;

/** An observation without what it has of rules. */
type Range = Omit<Extract<MessageInitShape<typeof ObservationSchema>, { $typeName?: never }>, "rules" | "keys">;

/** The part of an observation that is about one rule. */
interface Part {
  readonly series?: RuleSeries;
  readonly keys?: RuleKeys;
}

type KeyValueInit = MessageInitShape<typeof KeyValueSchema>;

/** That of a value without a level, which no key has. */
const NO_LEVEL = { key: "", isShown: false };

/** How values are shown: as texts where the mode or the rule says so, or as hashes once there is a key. */
export class KeyPresenter {
  readonly #mode: KeyValuesMode;
  #hashKey: Uint8Array | undefined;
  readonly #hashes = new Map<string, Uint8Array>();

  constructor(mode: KeyValuesMode) {
    this.#mode = mode;
  }

  /** Replaces the key of the fleet; empty when there is none. */
  useHashKey(key: Uint8Array): void {
    if (this.#hashKey !== undefined && Buffer.compare(this.#hashKey, key) === 0) return;
    this.#hashKey = key.length === 0 ? undefined : key;
    this.#hashes.clear();
  }

  /** The message of a value of a level; shown is what the mode allows. */
  present({ key, isShown }: Pick<KeyLevel, "key" | "isShown">, value: string, isCut: boolean): KeyValueInit {
    if (this.#mode === "clear" || (this.#mode === "hash" && isShown))
      return { key, isCut, shown: { case: "text", value } };
    const hash = this.#mode === "hash" && this.#hashKey !== undefined ? this.#hash(this.#hashKey, value) : undefined;
    return { key, isCut, ...(hash !== undefined && { shown: { case: "hash", value: hash } }) };
  }

  #hash(hashKey: Uint8Array, value: string): Uint8Array {
    const known = this.#hashes.get(value);
    if (known !== undefined) return known;
    if (this.#hashes.size >= HASHES_MAX) this.#hashes.clear();
    const hash = createHmac("sha256", hashKey).update(value).digest().subarray(0, HASH_BYTES);
    this.#hashes.set(value, hash);
    return hash;
  }
}

/** The messages of what was observed, each within MESSAGE_MAX_BYTES. */
export function observationMessages(
  observed: Observed,
  keys: readonly RuleKeyCounts[],
  presenter: KeyPresenter,
): readonly ObserveRequest[] {
  const { startSeconds, stepSeconds, decisions, rejections, errors, latencies, rules } = observed;
  const steps = decisions.length;
  const range = { startSeconds: BigInt(startSeconds), stepSeconds, steps };
  const totals = {
    ...{ decisions: onWire(decisions), rejections: onWire(rejections), errors: onWire(errors) },
    latencies: decisions.flatMap((_, step) => {
      const buckets = onWire(latencies.map((bucket) => bucket[step] ?? 0));
      return buckets.length === 0 ? [] : [{ step, buckets }];
    }),
  };
  return split({ ...range, totals }, [
    ...rules.map((rule) => ({ series: seriesMessage(rule) })),
    ...keys.map((counts) => ({ keys: keysMessage(counts, presenter) })),
  ]);
}

/** Halves the rules and their keys until each message is small enough. */
function split(range: Range, parts: readonly Part[]): readonly ObserveRequest[] {
  const rules = parts.flatMap(({ series }) => series ?? []);
  const keys = parts.flatMap((part) => part.keys ?? []);
  const value = create(ObservationSchema, { ...range, rules, keys });
  const message = create(ObserveRequestSchema, { content: { case: "observation", value } });
  if (parts.length < 2 || toBinary(ObserveRequestSchema, message).length <= MESSAGE_MAX_BYTES) return [message];
  const middle = Math.ceil(parts.length / 2);
  const { totals: _, ...later } = range;
  return [...split(range, parts.slice(0, middle)), ...split(later, parts.slice(middle))];
}

function seriesMessage({ name, series }: ObservedRule): RuleSeries {
  const [hits = [], overLimit = [], nearLimit = [], shadowMode = []] = series.map(onWire);
  return create(RuleSeriesSchema, { rule: { ...name }, hits, overLimit, nearLimit, shadowMode });
}

function keysMessage(counts: RuleKeyCounts, presenter: KeyPresenter): RuleKeys {
  const { domain, path, levels, sinceSeconds, overLimit, hits } = counts;
  const message = (count: KeyCount<RuleKey>): MessageInitShape<typeof TopKeySchema> =>
    keyMessage(count, levels, presenter);
  return create(RuleKeysSchema, {
    rule: { domain, path },
    sinceSeconds: BigInt(sinceSeconds),
    byRejections: overLimit.keys.map(message),
    byHits: hits.keys.map(message),
    rejections: wholeOnWire(overLimit.total),
    hits: wholeOnWire(hits.total),
  });
}

function keyMessage(
  { key: { values, cutFrom = Infinity }, count, error }: KeyCount<RuleKey>,
  levels: readonly KeyLevel[],
  presenter: KeyPresenter,
): MessageInitShape<typeof TopKeySchema> {
  return {
    values: values.map((value, at) => presenter.present(levels[at] ?? NO_LEVEL, value, at >= cutFrom)),
    count: wholeOnWire(count),
    error: wholeOnWire(error),
  };
}

/** A large count: sums of hits beyond what is exact stay there. */
function wholeOnWire(count: number): bigint {
  return BigInt(Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.round(count))));
}

/** A series without the zeros at its end. */
function onWire(series: readonly number[]): number[] {
  return series
    .slice(0, series.findLastIndex((number) => number > 0) + 1)
    .map((number) => Math.min(UINT32_MAX, Math.max(0, number)));
}
