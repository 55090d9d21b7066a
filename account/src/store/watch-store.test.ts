import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";
import { StoreError } from "./store-error.ts";
import type { UserStore } from "./user-store.ts";
import { STORE_OPERATIONS, watchStore } from "./watch-store.ts";

const NO_ANSWER = new StoreError("unknown", new Error("no server answers"), "no_answer");
const REFUSED = new StoreError("not_applied", new Error("the server refuses the credentials"), "credentials");

let lines: string[];
let counted: string[];
let fault: Error | undefined;
let nowMs: number;
let store: UserStore;

beforeEach(() => {
  lines = [];
  counted = [];
  fault = undefined;
  nowMs = 0;
  const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(line) });
  const call = (): Promise<never> =>
    (fault === undefined ? Promise.resolve() : Promise.reject(fault)) as Promise<never>;
  const plain = Object.fromEntries(Object.keys(STORE_OPERATIONS).map((name) => [name, call])) as unknown as UserStore;
  const events = {
    called: (operation: string) => counted.push(operation),
    failed: (reason: string) => counted.push(reason),
  };
  store = watchStore(plain, { log, events, nowMs: () => nowMs });
});

function logged(): readonly unknown[] {
  return lines.map((line) => {
    const { level, calls, reason, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return [level, fields["@message"], calls, reason];
  });
}

describe("watchStore()", () => {
  it("logs each reason once until the store works again, of reads and of writes", async () => {
    const down = ["warning", "The user store does not work"];
    for (fault of [NO_ANSWER, NO_ANSWER, REFUSED, NO_ANSWER, REFUSED]) await store.ping().catch(() => undefined);
    for (fault of [NO_ANSWER, NO_ANSWER]) await store.remove("a").catch(() => undefined);
    for (const time of [1, 9_999, 10_000, 10_001]) {
      nowMs = time; // Before it has been quiet for ten seconds, one call that succeeds says nothing.
      fault = undefined;
      await store.findById("a");
    }
    fault = NO_ANSWER;
    await store.ping().catch(() => undefined);
    expect(logged()).toEqual([
      [...down, "reads", "no server answers"],
      [...down, "reads", "the server refuses the credentials"],
      [...down, "writes", "no server answers"],
      ["info", "The user store works again", "reads", undefined],
      [...down, "reads", "no server answers"],
    ]);
  });

  it("counts every call and every failure, and passes both on", async () => {
    await store.findById("a");
    fault = REFUSED;
    await expect(store.remove("a")).rejects.toBe(REFUSED);
    fault = new StoreError("not_applied", new Error("gone"), "index_missing");
    await expect(store.ping()).rejects.toBe(fault);
    expect(counted).toEqual(["findById", "credentials", "remove", "index_missing", "ping"]);
    expect(logged()).toHaveLength(1); // The index is logged by what keeps it.
  });
});
