// The log lines of failed counters: the first failure, and then one line in ten seconds.
import { createLog, type Log } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";
import { StoreError } from "../counters/store-error.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { ReplyingCounter, DeciderFixture } from "./decider.suite.ts";

const OUT_OF_MEMORY = new StoreError("STORE_UNAVAILABLE", "Cannot count on store:6379: OOM command not allowed", {
  transient: true,
});
const SILENT = new StoreError("STORE_TIMEOUT", "Cannot count on store:6379: no answer within 1000 ms", {
  transient: true,
});
const KEY_INVALID = new StoreError(
  "STORE_KEY_INVALID",
  "Cannot count on the alternative store: the key is longer than 250 bytes",
);

let lines: string[];
let log: Log;

beforeEach(() => {
  lines = [];
  log = createLog({ level: "warn", format: "json", write: (line) => void lines.push(line) });
});

/** The fields of all lines, without their time. */
function logged(): unknown[] {
  return lines.map((line) => {
    const { "@timestamp": _time, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return fields;
  });
}

function line(error: StoreError, answer: string): object {
  return { level: "warning", error: error.message, answer, "@message": "Calls cannot be counted" };
}

describe("decide()", () => {
  function open(replies: readonly StoreError[], failureMode: "error" | "allow" | "deny"): DeciderFixture {
    const rules = [descriptor({ key: "user", rateLimit: limit(10, "minute") })];
    const counter = new ReplyingCounter([...replies]);
    return new DeciderFixture({ configs: [configuration("domain", rules)], counter, options: { failureMode }, log });
  }
  const request = { descriptors: [{ entries: entries("user=a") }] };

  it.each(["error", "allow", "deny"] as const)(
    "decide() logs the first failure of its counters, and further ones once in ten seconds, when the answer is %s",
    (failureMode) => {
      const fixture = open([OUT_OF_MEMORY, OUT_OF_MEMORY, OUT_OF_MEMORY, SILENT], failureMode);
      for (let calls = 0; calls < 3; calls++) fixture.decide(request);
      expect(logged()).toEqual([line(OUT_OF_MEMORY, failureMode)]);
      fixture.nowMs += 10_000;
      fixture.decide(request);
      expect(logged().slice(1)).toEqual([{ ...line(SILENT, failureMode), repeats: 2 }]);
    },
  );

  it("decide() makes one error for all calls that fail with the same error of the store", () => {
    const fixture = open([SILENT, SILENT, OUT_OF_MEMORY], "error");
    const [first, second, third] = [1, 2, 3].map(() => fixture.decide(request).error);
    expect(second).toBe(first);
    expect(third).toMatchObject({ code: "STORE_UNAVAILABLE", message: OUT_OF_MEMORY.message });
  });

  it("decide() does not log keys that no store would take, which are the caller's fault", () => {
    const fixture = open([KEY_INVALID], "allow");
    expect(fixture.decide(request).error.code).toBe("REQUEST_INVALID");
    expect(logged()).toEqual([]);
  });
});
