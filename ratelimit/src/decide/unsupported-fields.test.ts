import type { Log } from "@weir/common/log/log";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";

import type { UnsupportedFieldsMode } from "./decider.ts";
import { DeciderFixture, ReplyingCounter } from "./decider.suite.ts";
import type { RequestDescriptor } from "./request.ts";

const KEY = entries("key=x");

/** Minutes of more than ten years. */
const TOO_LONG = 5_256_001;

interface Line {
  readonly message: string;
  readonly fields: unknown;
}

function withMultiplier(unitMultiplier: number): RequestDescriptor {
  return { entries: KEY, limit: { requestsPerUnit: 5, unit: 2, unitMultiplier } };
}

function fixture(unsupportedFields: UnsupportedFieldsMode): { decider: DeciderFixture; lines: Line[] } {
  const lines: Line[] = [];
  const note = (message: string, fields?: unknown): void => void lines.push({ message, fields });
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log, isEnabled: () => false };
  const decider = new DeciderFixture({
    configs: [configuration("domain", [descriptor({ key: "key", rateLimit: limit(10, "minute") })])],
    counter: new ReplyingCounter([1, 2, 3, 4, 5, 6]),
    options: { unsupportedFields },
    log,
  });
  return { decider, lines };
}

describe("decide() and fields that are not supported", () => {
  it("decide() ignores a unit_multiplier of more than ten years, and counts the calls that have one", () => {
    const { decider } = fixture("ignore");
    const [status] = decider.decide({ descriptors: [withMultiplier(TOO_LONG)] }).decision.statuses;
    expect(status).toMatchObject({ currentLimit: { requestsPerUnit: 5, unit: 2 }, limitRemaining: 4 });
    expect(status?.currentLimit).not.toHaveProperty("unitMultiplier");
    expect(status?.durationUntilResetSeconds).toBeLessThanOrEqual(60);
    expect(decider.counted()).toMatchObject({ "unsupported_field.unit_multiplier": 1 });
  });

  it.each<[string, RequestDescriptor]>([
    ["no such field", { entries: KEY }],
    ["a unit_multiplier of 1", withMultiplier(1)],
    ["a unit_multiplier of ten years", withMultiplier(TOO_LONG - 1)],
    ["a unit_multiplier of 0", withMultiplier(0)],
  ])("decide() neither counts nor rejects a request with %s", (_what, each) => {
    const { decider, lines } = fixture("error");
    expect(decider.decide({ descriptors: [each] }).decision.overallCode).toBe(1);
    expect(Object.keys(decider.counted()).filter((name) => name.startsWith("unsupported_field"))).toEqual([]);
    expect(lines).toEqual([]);
  });

  it.each([
    [
      withMultiplier(TOO_LONG),
      "unit_multiplier",
      "rate limit override must not have a window longer than ten years, its unit_multiplier is too large",
    ],
  ])("decide() rejects %j with UNSUPPORTED_FIELDS=error, and counts nothing but that", (each, field, message) => {
    const { decider, lines } = fixture("error");
    const { error } = decider.decide({ descriptors: [{ entries: KEY }, each] });
    expect(error).toMatchObject({ code: "REQUEST_INVALID", message });
    expect(decider.counted()).toEqual({
      [`unsupported_field.${field}`]: 1,
      "call.should_rate_limit.service_error": 1,
    });
    expect(lines).toEqual([]);
  });

  it("decide() logs each field once a minute, with the number of calls in between", () => {
    const { decider, lines } = fixture("ignore");
    const message = "Ignored a field that is not supported";
    const ask = (...descriptors: RequestDescriptor[]): void => void decider.decide({ descriptors });
    ask(withMultiplier(TOO_LONG));
    ask(withMultiplier(TOO_LONG));
    decider.nowMs += 59_999;
    ask(withMultiplier(TOO_LONG));
    expect(lines).toEqual([{ message, fields: { field: "unit_multiplier", domain: "domain" } }]);
    decider.nowMs += 1;
    ask(withMultiplier(TOO_LONG));
    expect(lines.slice(1)).toEqual([{ message, fields: { field: "unit_multiplier", domain: "domain", repeats: 2 } }]);
  });
});
