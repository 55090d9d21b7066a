// Groups of one call: how many are under way at a time, what is not sent after a failure, and whose
// deadline it was.
import { describe, expect, it } from "vitest";
import type { CountBatch, CountedCheck } from "../../counter.ts";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { StoreError } from "../../store-error.ts";
import { GroupedCall } from "./grouped-call.ts";

const CREATED_MS = 1_000_000;
const TIMEOUT_MS = 400;

/** A call whose checks are called after their nodes, with a record of what was sent. */
class CallUnderTest {
  readonly batch: WaitingBatch;
  readonly call: GroupedCall;
  /** Names of what was sent and not answered. */
  underWay: string[] = [];
  nowMs = CREATED_MS;
  readonly #groups = new Map<string, CountBatch>();

  constructor(
    nodes: readonly string[],
    parallelism: number,
    { deadlineMs, isRead = false }: { deadlineMs?: number; isRead?: boolean } = {},
  ) {
    this.batch = new WaitingBatch(
      nodes.map((node) => check(node)),
      deadlineMs,
    );
    this.batch.pending = nodes.length;
    const send = (sent: CountedCheck, group: CountBatch): void => {
      this.underWay.push(nameOf(sent));
      this.#groups.set(nameOf(sent), group);
    };
    this.call = new GroupedCall(
      { batch: this.batch, isRead, createdMs: CREATED_MS },
      { send, monotonicMs: () => this.nowMs },
      { parallelism, timeoutMs: TIMEOUT_MS, text: "the cluster" },
    );
    for (const each of this.batch.checks) this.call.add(each, nameOf(each));
  }

  /** The deadline that a node sees. */
  deadlineOf(node: string): number | undefined {
    return this.#groups.get(node)?.deadlineMs;
  }

  /** Lets a node answer what it was sent. */
  answer(node: string, after: number): void {
    const answered = this.underWay.filter((name) => name === node);
    this.underWay = this.underWay.filter((name) => name !== node);
    for (const each of this.batch.checks) if (nameOf(each) === node) each.after = after;
    const group = this.#groups.get(node);
    if (group === undefined) throw new Error(`${node} was sent nothing`);
    group.pending -= answered.length;
    if (group.pending === 0) group.counted();
  }

  /** Lets what a node was sent fail. */
  fail(node: string, code: "STORE_UNAVAILABLE" | "DEADLINE_EXCEEDED" = "STORE_UNAVAILABLE"): void {
    this.underWay = this.underWay.filter((name) => name !== node);
    this.#groups.get(node)?.failed(new StoreError(code, `Cannot count on ${node}`, { transient: true }));
  }
}

function nameOf({ key }: CountedCheck): string {
  return key.slice(0, 1);
}

describe("GroupedCall", () => {
  it("case 125: a call of one check is sent as it is", async () => {
    const one = new CallUnderTest(["a"], 1);
    expect(one.underWay).toEqual(["a"]);
    one.answer("a", 7);
    expect(await one.batch.counts).toEqual([7]);
  });

  it("case 125: checks of one node are one group, in their order", async () => {
    const two = new CallUnderTest(["a", "a"], 1);
    expect(two.underWay).toEqual(["a", "a"]);
    two.answer("a", 7);
    expect(await two.batch.counts).toEqual([7, 7]);
  });

  it("groups go one after the other in the order in which nodes were seen first when the parallelism is 1", async () => {
    const serial = new CallUnderTest(["b", "a", "b", "c"], 1);
    expect(serial.underWay).toEqual(["b", "b"]);
    serial.answer("b", 1);
    expect(serial.underWay).toEqual(["a"]);
    serial.answer("a", 2);
    expect(serial.underWay).toEqual(["c"]);
    expect(serial.batch.isAnswered).toBe(false);
    expect(serial.call.isOver).toBe(false);
    serial.answer("c", 3);
    expect(await serial.batch.counts).toEqual([1, 2, 1, 3]);
    expect(serial.call.isOver).toBe(true);
  });

  it("case 126: the second group is not sent when the parallelism is 1 and the first fails", async () => {
    const serial = new CallUnderTest(["a", "b"], 1);
    serial.fail("a");
    expect(serial.underWay).toEqual([]);
    expect(serial.call.isOver).toBe(true);
    await expect(serial.batch.counts).rejects.toThrow("Cannot count on a");
  });

  it("case 126: three groups are in flight together when the parallelism is 3", async () => {
    const parallel = new CallUnderTest(["a", "b", "c"], 3);
    expect(parallel.underWay).toEqual(["a", "b", "c"]);
    for (const node of ["c", "a", "b"]) parallel.answer(node, 1);
    expect(await parallel.batch.counts).toEqual([1, 1, 1]);
  });

  it("case 126: at most two groups are in flight together when the parallelism is 2", async () => {
    const parallel = new CallUnderTest(["a", "b", "c", "d"], 2);
    expect(parallel.underWay).toEqual(["a", "b"]);
    parallel.answer("b", 1);
    expect(parallel.underWay).toEqual(["a", "c"]);
    parallel.answer("a", 1);
    expect(parallel.underWay).toEqual(["c", "d"]);
    parallel.answer("d", 1);
    expect(parallel.underWay).toEqual(["c"]);
    parallel.answer("c", 1);
    expect(await parallel.batch.counts).toEqual([1, 1, 1, 1]);
  });

  it("case 126: no further group is sent when one of several under way fails, whatever the others answer", async () => {
    const parallel = new CallUnderTest(["a", "b", "c"], 2);
    parallel.fail("b");
    parallel.answer("a", 1);
    expect(parallel.underWay).toEqual([]);
    await expect(parallel.batch.counts).rejects.toThrow("Cannot count on b");
  });

  it("no further group is sent when another deployment has failed the call", () => {
    const serial = new CallUnderTest(["a", "b"], 1);
    serial.batch.pending = 0;
    serial.batch.failed(new StoreError("STORE_UNAVAILABLE", "elsewhere", { transient: true }));
    serial.answer("a", 1);
    expect(serial.underWay).toEqual([]);
  });

  it("every group has to answer within the time of the whole call, or by the caller's deadline if that is earlier", () => {
    const unhurried = new CallUnderTest(["a", "b"], 1);
    expect(unhurried.deadlineOf("a")).toBe(CREATED_MS + TIMEOUT_MS);
    unhurried.nowMs += 300;
    unhurried.answer("a", 1);
    expect(unhurried.deadlineOf("b")).toBe(CREATED_MS + TIMEOUT_MS);
    const hurried = new CallUnderTest(["a", "b"], 1, { deadlineMs: CREATED_MS + 50 });
    expect(hurried.deadlineOf("a")).toBe(CREATED_MS + 50);
  });

  it("the error says that the store is silent when the time of the call is over, and keeps the caller's deadline apart from it", async () => {
    const silent = new CallUnderTest(["a", "b"], 1);
    silent.nowMs += TIMEOUT_MS;
    silent.fail("a", "DEADLINE_EXCEEDED");
    await expect(silent.batch.counts).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      message: "Cannot count on the cluster: no answer within 400 ms",
    });
    const hurried = new CallUnderTest(["a", "b"], 1, { deadlineMs: CREATED_MS + 50 });
    hurried.nowMs += 50;
    hurried.fail("a", "DEADLINE_EXCEEDED");
    await expect(hurried.batch.counts).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
  });
});
