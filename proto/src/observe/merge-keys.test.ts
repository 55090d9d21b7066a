// Tests of merge-keys.ts.
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { FleetKeys } from "../generated/weir/console/v1/console_pb.ts";
import { RuleKeysSchema, type TopKeySchema } from "../generated/weir/observe/v1/observe_pb.ts";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { keysOfPod, mergeKeys } from "./merge-keys.ts";

const USER = { domain: "shop", path: "shop.user" };
const TOP_KEYS = 4;

const USERS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] as const;

function keyOf(user: string, count: number, error = 0): MessageInitShape<typeof TopKeySchema> {
  return {
    values: [{ key: "user", shown: { case: "text", value: user } }],
    count: BigInt(count),
    error: BigInt(error),
  };
}

function podOf(keys: MessageInitShape<typeof TopKeySchema>[], rule = USER, topKeys = TOP_KEYS): FleetKeys {
  const total = keys.reduce((sum, { count = 0n }) => sum + count, 0n);
  return keysOfPod(create(RuleKeysSchema, { rule, byRejections: keys, rejections: total, sinceSeconds: 9n }), topKeys);
}

function rejectionsOf({ keys }: FleetKeys): readonly (readonly [string, number, number])[] {
  return keys!.byRejections.map(({ values: [value], count, error }) => [
    String(value?.shown.value),
    Number(count),
    Number(error),
  ]);
}

describe("mergeKeys()", () => {
  it("merges a thousand pods with 32 keys each that are all different", () => {
    const keysOf = (pod: number) =>
      Array.from({ length: 32 }, (_, key) => keyOf(`${pod}/${key}`, (1 + pod) * (1 + key)));
    const pods = Array.from({ length: 1000 }, (_, pod) => podOf(keysOf(pod), USER, 32));
    const [merged] = mergeKeys(pods);
    expect(merged?.keys?.byRejections).toHaveLength(32);
    // It has 32,000 there; the least counts of the 999 other pods are 1 to 999.
    expect(merged && rejectionsOf(merged)[0]).toEqual(["999/31", 32_000 + 499_500, 499_500]);
  });

  it("counts a key once that a pod repeats", () => {
    const [merged] = mergeKeys([podOf([keyOf("ada", 5), keyOf("ada", 5), keyOf("ada", 5), keyOf("ada", 5)])]);
    expect(merged && rejectionsOf(merged)).toEqual([["ada", 5, 0]]);
  });

  it("adds what pods have counted of equal keys", () => {
    const [merged, ...others] = mergeKeys([podOf([keyOf("ada", 5), keyOf("bob", 2)]), podOf([keyOf("bob", 9, 1)])]);
    expect(others).toEqual([]);
    expect(merged && rejectionsOf(merged)).toEqual([
      ["bob", 11, 1],
      ["ada", 5, 0],
    ]);
    expect(merged?.keys).toMatchObject({ rule: USER, rejections: 16n, sinceSeconds: 9n });
  });

  it("adds the least count of a full table for a key that it lacks", () => {
    const full = podOf([keyOf("a", 9), keyOf("b", 8), keyOf("c", 7), keyOf("d", 6)]);
    const [merged] = mergeKeys([full, podOf([keyOf("eve", 3)])]);
    expect(merged && rejectionsOf(merged)).toContainEqual(["eve", 9, 6]);
    expect(merged?.othersRejectionsMax).toBe(6n);
  });

  it("keeps rules apart", () => {
    const plan = { domain: "shop", path: "shop.plan" };
    expect(mergeKeys([podOf([keyOf("ada", 1)]), podOf([keyOf("ada", 1)], plan)])).toHaveLength(2);
  });

  it("keeps keys apart whose values are not shown, and hashes apart from texts", () => {
    const unknown = { values: [{ key: "user" }], count: 1n };
    const hash = { values: [{ key: "user", shown: { case: "hash" as const, value: Uint8Array.of(97) } }], count: 1n };
    const pod = podOf([unknown, hash, keyOf("a", 1)]);
    expect(mergeKeys([pod, pod])[0]?.keys?.byRejections.map(({ count }) => count)).toEqual([2n, 2n, 1n, 1n]);
  });

  it("keeps the true count between count - error and count, also of answers of replicas", () => {
    const counts = fc.dictionary(fc.constantFrom(...USERS), fc.integer({ min: 1, max: 50 }));
    const replicas = fc.array(fc.array(counts, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 });
    const report = (pod: Record<string, number>): FleetKeys => {
      const all = Object.entries(pod).toSorted(([, one], [, other]) => other - one);
      return podOf(all.slice(0, TOP_KEYS).map(([user, count]) => keyOf(user, count)));
    };
    fc.assert(
      fc.property(replicas, (pods) => {
        const [merged] = mergeKeys(pods.flatMap((each) => mergeKeys(each.map(report))));
        const sumOf = (user: string): number => pods.flat().reduce((sum, pod) => sum + (pod[user] ?? 0), 0);
        const listed = merged === undefined ? [] : rejectionsOf(merged);
        for (const [user, count, error] of listed) {
          expect(sumOf(user)).toBeLessThanOrEqual(count);
          expect(sumOf(user)).toBeGreaterThanOrEqual(count - error);
        }
        const names = new Set(listed.map(([user]) => user));
        for (const user of USERS.filter((each) => !names.has(each)))
          expect(sumOf(user)).toBeLessThanOrEqual(Number(merged?.othersRejectionsMax));
      }),
    );
  });
});
