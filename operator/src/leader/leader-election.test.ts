import { describeError } from "@weir/common/errors/service-error";
import { silentLog } from "@weir/common/log/log";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { FakeLeaseServer, type Network } from "./fake-lease-server.suite.ts";
import { LeaderElection } from "./leader-election.ts";

const TIMES = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

/** One replica and the work of its terms. */
interface Replica {
  readonly election: LeaderElection;
  readonly network: Network;
  /** Added to the time of its clock that only goes forward, and of its other clock, in milliseconds. */
  readonly clocks: { monotonicMs: number; epochMs: number };
  /** Ends the work of the term after its signal, or lets it fail; otherwise the work ends with the signal. */
  endWork: ((failure?: Error) => void) | undefined;
  terms: number;
  failures: number;
}

describe("LeaderElection", () => {
  let server: FakeLeaseServer;
  let replicas: Replica[];

  function startReplica(identity: string, { isWorkSlow = false } = {}): Replica {
    const network: Network = { isCut: false, requestMs: 5, answerMs: 5 };
    const clocks = { monotonicMs: 0, epochMs: 0 };
    const lead = async (signal: AbortSignal): Promise<void> => {
      replica.terms += 1;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (failure?: unknown): void => (failure instanceof Error ? reject(failure) : resolve());
      if (isWorkSlow) replica.endWork = end;
      else signal.addEventListener("abort", end, { once: true });
      await promise;
    };
    const election = new LeaderElection(
      {
        objects: server.client(network),
        clock: () => 1_000_000 + vi.getMockedSystemTime()!.getTime() + clocks.epochMs,
        monotonicMs: () => vi.getMockedSystemTime()!.getTime() + clocks.monotonicMs,
        log: silentLog(),
        random: () => 0,
        lead,
        failed: () => void (replica.failures += 1),
      },
      { ...TIMES, name: "lease", namespace: "system", identity },
    );
    const replica: Replica = { election, network, clocks, endWork: undefined, terms: 0, failures: 0 };
    replicas.push(replica);
    election.start();
    return replica;
  }

  /** Lets time pass, with everything that happens in it. */
  async function pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  beforeEach(() => {
    vi.useFakeTimers();
    [server, replicas] = [new FakeLeaseServer(), []];
  });

  afterEach(async () => {
    for (const { election, network, endWork } of replicas) {
      Object.assign(network, { isCut: false, requestMs: 5, answerMs: 5 });
      const stopped = election.stop();
      endWork?.();
      await pass(100);
      await stopped;
    }
    vi.useRealTimers();
  });

  it("makes one replica the leader, which renews the Lease", async () => {
    const [a, b] = [startReplica("a"), startReplica("b")];
    await pass(60_000);
    expect([a.election.isLeader, b.election.isLeader, a.terms, b.terms]).toEqual([true, false, 1, 0]);
    expect(server.spec).toMatchObject({ holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(a.election.remainingMs()).toBeGreaterThan(12_000);
  });

  it("stop() releases the Lease after the work has ended, and another replica takes it immediately", async () => {
    const a = startReplica("a", { isWorkSlow: true });
    await pass(100);
    const b = startReplica("b");
    const stopped = a.election.stop();
    await pass(5000);
    expect([a.election.isLeader, a.election.remainingMs(), server.spec?.["holderIdentity"]]).toEqual([false, 0, "a"]);
    a.endWork?.();
    await pass(100);
    await stopped;
    expect(server.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
    await pass(2500);
    expect(b.election.isLeader).toBe(true);
    expect(server.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  });

  it("ends the work at the deadline when the server is away, before another replica can begin", async () => {
    const a = startReplica("a");
    await pass(100);
    const b = startReplica("b");
    await pass(10_000);
    a.network.isCut = true;
    await pass(10_000);
    expect([a.election.isLeader, b.election.isLeader]).toEqual([false, false]);
    await pass(9000);
    expect(b.election.isLeader).toBe(true);
    a.network.isCut = false;
    await pass(10_000);
    expect([a.election.isLeader, a.terms]).toEqual([false, 1]);
  });

  it("continues to lead when the server is away for less than the deadline", async () => {
    const a = startReplica("a");
    await pass(4000);
    a.network.isCut = true;
    await pass(4000);
    a.network.isCut = false;
    await pass(10_000);
    expect([a.election.isLeader, a.terms]).toEqual([true, 1]);
  });

  it("sets no timer with a delay below 0 when an attempt takes longer than the period", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    const a = startReplica("a");
    a.network.isCut = true;
    await pass(30_000);
    const delaysMs = timers.mock.calls.map(([, delayMs = 0]) => delayMs);
    expect([Math.min(...delaysMs), delaysMs.includes(5000)]).toEqual([0, true]);
  });

  it("continues to lead when answers take seconds", async () => {
    const a = startReplica("a");
    await pass(100);
    a.network.answerMs = 4000;
    await pass(60_000);
    expect([a.election.isLeader, a.terms]).toEqual([true, 1]);
    // From when the request was sent, not from its answer.
    expect(a.election.remainingMs()).toBeLessThan(11_100);
  });

  it("has no time left when the process was stopped for longer than the deadline", async () => {
    const a = startReplica("a");
    await pass(100);
    a.clocks.monotonicMs = 20_000;
    expect([a.election.remainingMs() < 0, a.election.isLeader]).toEqual([true, false]);
  });

  it("follows no clock of a holder, wherever it jumps", async () => {
    const a = startReplica("a");
    await pass(100);
    const b = startReplica("b");
    for (const epochMs of [-86_400_000, 86_400_000, 0]) {
      [a.clocks.epochMs, b.clocks.epochMs] = [epochMs, -epochMs];
      await pass(20_000);
      expect([a.election.isLeader, a.terms, b.terms]).toEqual([true, 1, 0]);
    }
  });

  it("makes the Lease again when it was deleted, and no other replica takes it meanwhile", async () => {
    const a = startReplica("a");
    await pass(100);
    const b = startReplica("b");
    await pass(5000);
    a.network.requestMs = 2000;
    server.delete();
    await pass(10_000);
    expect([a.election.isLeader, a.terms, b.terms]).toEqual([true, 1, 0]);
    expect(server.spec?.["holderIdentity"]).toBe("a");
  });

  it("ends the work when another holder was written into the Lease", async () => {
    const a = startReplica("a");
    await pass(100);
    server.put({ holderIdentity: "stranger", leaseDurationSeconds: 15 });
    await pass(2500);
    expect(a.election.isLeader).toBe(false);
    await pass(20_000);
    expect([a.election.isLeader, a.terms]).toEqual([true, 2]);
  });

  it("does not lead again before the work of its last term has ended", async () => {
    const a = startReplica("a", { isWorkSlow: true });
    await pass(100);
    a.network.isCut = true;
    await pass(11_000);
    a.network.isCut = false;
    await pass(60_000);
    expect([a.election.isLeader, a.terms]).toEqual([false, 1]);
    a.endWork?.();
    await pass(5000);
    expect([a.election.isLeader, a.terms]).toEqual([true, 2]);
  });

  it("lets the process end with the reason when the work of a term that was lost does not end", async () => {
    const a = startReplica("a", { isWorkSlow: true });
    await pass(100);
    const b = startReplica("b");
    a.network.isCut = true;
    await pass(11_000);
    expect(a.failures).toBe(0);
    a.endWork?.(new Error("controller status did not stop within 10000 ms in all"));
    a.network.isCut = false;
    await pass(60_000);
    expect([a.failures, a.terms, a.election.remainingMs(), b.election.isLeader]).toEqual([1, 1, 0, true]);
    replicas = [b];
    const failure = await a.election.stop().catch(describeError);
    expect(failure).toBe(
      "Cannot end the work of the leader (the Lease is lost: it was not renewed in time): " +
        "controller status did not stop within 10000 ms in all",
    );
  });

  it("lets the process end when the work of the leader cannot begin, and another replica leads", async () => {
    const a = startReplica("a", { isWorkSlow: true });
    await pass(100);
    const b = startReplica("b");
    a.endWork?.(new Error("Cannot listen"));
    await pass(20_000);
    expect([a.failures, a.terms, a.election.isLeader, b.election.isLeader]).toEqual([1, 1, false, true]);
    replicas = [b];
    await expect(a.election.stop()).rejects.toThrow("Cannot begin the work of the leader");
  });

  /** The next event of one of three replicas, or of the Lease. */
  const EVENT = fc.record({
    kind: fc.constantFrom("cut", "restore", "slow", "fast", "jump", "delete", "nothing"),
    replica: fc.integer({ min: 0, max: 2 }),
    ms: fc.integer({ min: 100, max: 12_000 }),
  });

  it("never gives two replicas time to write, whatever happens to network, clocks and the Lease", async () => {
    const property = fc.asyncProperty(fc.array(EVENT, { maxLength: 8 }), async (events) => {
      [server, replicas] = [new FakeLeaseServer(), []];
      const three = ["a", "b", "c"].map((identity) => startReplica(identity));
      const checkedPass = async (ms: number): Promise<void> => {
        for (let left = ms; left > 0; left -= 250) {
          await pass(250);
          expect(three.filter(({ election }) => election.remainingMs() > 0).length).toBeLessThanOrEqual(1);
        }
      };
      await checkedPass(3000);
      for (const { kind, replica, ms } of events) {
        const { network, clocks } = three[replica]!;
        if (kind === "cut" || kind === "restore") network.isCut = kind === "cut";
        if (kind === "slow" || kind === "fast") network.answerMs = kind === "slow" ? 3000 : 5;
        if (kind === "jump") clocks.epochMs += ms * 1000;
        if (kind === "delete") server.delete();
        await checkedPass(ms);
      }
      for (const { network } of three) [network.isCut, network.answerMs] = [false, 5];
      await checkedPass(30_000);
      expect(three.filter(({ election }) => election.isLeader)).toHaveLength(1);
      for (const { election } of three) {
        const stopped = election.stop();
        await pass(100);
        await stopped;
      }
    });
    await fc.assert(property, { seed: 1, numRuns: 8 });
  });
});
