// What the log says when counters fail: the reason at once, and not once per call.
import { createLog, type Log } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";
import { StoreError } from "../counters/store-error.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { ReplyingCounter, DeciderFixture } from "./decider.suite.ts";
import { FailureLog } from "./failure-log.ts";

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

/** What lines say, without their time. */
function told(): unknown[] {
  return lines.map((line) => {
    const { "@timestamp": _time, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return fields;
  });
}

function line(error: StoreError, calls: number, answer: string): unknown {
  return { level: "warning", error: error.message, calls, answer, "@message": "Calls cannot be counted" };
}

describe("FailureLog", () => {
  it("note() tells the first failure at once, and after ten seconds the last one and how many there were", () => {
    const failures = new FailureLog(log, "allow");
    failures.note(OUT_OF_MEMORY, 1_000_000);
    for (let nowMs = 1_000_001; nowMs < 1_010_000; nowMs += 1) failures.note(OUT_OF_MEMORY, nowMs);
    expect(told()).toEqual([line(OUT_OF_MEMORY, 1, "allow")]);
    failures.note(SILENT, 1_010_000);
    expect(told()).toEqual([line(OUT_OF_MEMORY, 1, "allow"), line(SILENT, 10_000, "allow")]);
  });

  it("note() goes on telling when the clock is set back", () => {
    const failures = new FailureLog(log, "error");
    failures.note(SILENT, 1_000_000);
    failures.note(SILENT, 5_000);
    expect(told()).toEqual([line(SILENT, 1, "error"), line(SILENT, 1, "error")]);
  });
});

describe("decide()", () => {
  function open(reply: StoreError, failureMode: "error" | "allow" | "deny"): DeciderFixture {
    const rules = [descriptor({ key: "user", rateLimit: limit(10, "minute") })];
    const counter = new ReplyingCounter([reply, reply]);
    return new DeciderFixture({ configs: [configuration("domain", rules)], counter, options: { failureMode }, log });
  }

  it.each(["error", "allow", "deny"] as const)(
    "decide() says once why its counters fail when the answer is %s",
    (failureMode) => {
      const fixture = open(OUT_OF_MEMORY, failureMode);
      for (let calls = 0; calls < 2; calls++) fixture.decide({ descriptors: [{ entries: entries("user=a") }] });
      expect(told()).toEqual([line(OUT_OF_MEMORY, 1, failureMode)]);
    },
  );

  it("decide() does not tell of keys that no store would take, which are the caller's fault", () => {
    const fixture = open(KEY_INVALID, "allow");
    expect(fixture.decide({ descriptors: [{ entries: entries("user=a") }] }).error.code).toBe("REQUEST_INVALID");
    expect(told()).toEqual([]);
  });
});
