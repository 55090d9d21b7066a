// Messages of what was observed: how values are shown, and their size.
import { createHmac } from "node:crypto";
import { toBinary, toJson } from "@bufbuild/protobuf";
import {
  type Observation,
  type ObserveRequest,
  ObserveRequestSchema,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { describe, expect, it } from "vitest";
import { KeyPresenter, MESSAGE_MAX_BYTES, observationMessages } from "./observation-message.ts";
import type { Observed } from "./observed.ts";
import type { RuleKeyCounts } from "./rule-keys.ts";

const OBSERVED: Observed = {
  startSeconds: 1000,
  stepSeconds: 1,
  decisions: [7],
  rejections: [2],
  errors: [0],
  latencies: [[0], [5], [2], [0]],
  rules: [{ name: { domain: "shop", path: "shop.k" }, series: [[3], [1], [0], [0]] }],
};

const KEYS: RuleKeyCounts = {
  domain: "shop",
  path: "shop.k",
  levels: [{ index: 0, key: "k", isShown: false }],
  sinceSeconds: 900,
  overLimit: { keys: [{ key: { values: ["secret"], cutFrom: undefined }, count: 5, error: 1 }], floor: 0, total: 6 },
  hits: { keys: [{ key: { values: ["secre"], cutFrom: 0 }, count: 8, error: 0 }], floor: 0, total: 9 },
};

const FLEET_KEY = Buffer.from("0123456789abcdef");

function observationOf({ content }: ObserveRequest): Observation {
  if (content.case !== "observation") throw new Error(`It is ${content.case}`);
  return content.value;
}

function shown(presenter: KeyPresenter, keys = KEYS): unknown {
  const [message] = observationMessages(OBSERVED, [keys], presenter);
  return message && observationOf(message).keys[0]?.byRejections[0]?.values[0]?.shown;
}

describe("observationMessages()", () => {
  it("has the numbers of each step, without zeros at the end", () => {
    const [message] = observationMessages(OBSERVED, [KEYS], new KeyPresenter("clear"));
    expect(message && toJson(ObserveRequestSchema, message)).toEqual({
      observation: {
        startSeconds: "1000",
        stepSeconds: 1,
        steps: 1,
        totals: { decisions: [7], rejections: [2], latencies: [{ buckets: [0, 5, 2] }] },
        rules: [{ rule: { domain: "shop", path: "shop.k" }, hits: [3], overLimit: [1] }],
        keys: [
          {
            rule: { domain: "shop", path: "shop.k" },
            sinceSeconds: "900",
            byRejections: [{ values: [{ key: "k", text: "secret" }], count: "5", error: "1" }],
            byHits: [{ values: [{ key: "k", text: "secre", isCut: true }], count: "8" }],
            rejections: "6",
            hits: "9",
          },
        ],
      },
    });
  });

  it("shows values as hashes with the key of the fleet, and not at all without it", () => {
    const presenter = new KeyPresenter("hash");
    expect(shown(presenter)).toEqual({ case: undefined });
    presenter.useHashKey(FLEET_KEY);
    const hash = (key: Uint8Array): Buffer => createHmac("sha256", key).update("secret").digest().subarray(0, 8);
    expect(shown(presenter)).toMatchObject({ case: "hash", value: hash(FLEET_KEY) });
    const another = Buffer.from("another key of a fleet");
    presenter.useHashKey(another);
    expect(shown(presenter)).toMatchObject({ case: "hash", value: hash(another) });
    presenter.useHashKey(new Uint8Array());
    expect(shown(presenter)).toEqual({ case: undefined });
  });

  it.each([
    { mode: "hash", expected: { case: "text", value: "secret" } },
    { mode: "clear", expected: { case: "text", value: "secret" } },
    { mode: "off", expected: { case: undefined } },
  ] as const)("shows a value that its rule shows with $mode as $expected", ({ mode, expected }) => {
    const presenter = new KeyPresenter(mode);
    presenter.useHashKey(FLEET_KEY);
    expect(shown(presenter, { ...KEYS, levels: [{ index: 0, key: "k", isShown: true }] })).toEqual(expected);
  });

  it("shows the levels of a rule that it shows, and hashes of the others", () => {
    const presenter = new KeyPresenter("hash");
    presenter.useHashKey(FLEET_KEY);
    const levels = [
      { index: 0, key: "user", isShown: false },
      { index: 1, key: "path", isShown: true },
    ];
    const key = { values: ["ada", "/search"], cutFrom: undefined };
    const overLimit = { keys: [{ key, count: 5, error: 1 }], floor: 0, total: 6 };
    const [message] = observationMessages(OBSERVED, [{ ...KEYS, levels, overLimit }], presenter);
    expect(message && observationOf(message).keys[0]?.byRejections[0]?.values).toMatchObject([
      { key: "user", shown: { case: "hash" } },
      { key: "path", shown: { case: "text", value: "/search" } },
    ]);
  });

  it("shows no values where they are off, also with a key", () => {
    const presenter = new KeyPresenter("off");
    presenter.useHashKey(FLEET_KEY);
    expect(shown(presenter)).toEqual({ case: undefined });
  });

  it("stops counts at the largest exact number", () => {
    const keys = { ...KEYS, overLimit: { ...KEYS.overLimit, total: 2 ** 70 } };
    const [message] = observationMessages(OBSERVED, [keys], new KeyPresenter("off"));
    expect(message && toBinary(ObserveRequestSchema, message).length).toBeGreaterThan(0);
    expect(message && observationOf(message).keys[0]?.rejections).toBe(BigInt(Number.MAX_SAFE_INTEGER));
  });

  it("divides what is too large into messages with other rules, and the totals once", () => {
    const large = [1, 2, 3, 4].map((field) => Array.from({ length: 61 }, (_, step) => 1_000_000 * field + step));
    const rules = Array.from({ length: 500 }, (_, index) => ({
      name: { domain: "shop", path: `shop.key_${index}` },
      series: large,
    }));
    const messages = observationMessages({ ...OBSERVED, rules }, [KEYS], new KeyPresenter("clear"));
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages)
      expect(toBinary(ObserveRequestSchema, message).length).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
    const observations = messages.map(observationOf);
    expect(observations.flatMap((each) => each.rules.map(({ rule }) => rule?.path))).toEqual(
      rules.map(({ name }) => name.path),
    );
    expect(observations.flatMap(({ keys }) => keys)).toHaveLength(1);
    expect(observations.map(({ totals }) => totals?.decisions)).toEqual([
      [7],
      ...messages.slice(1).map(() => undefined),
    ]);
  });
});
