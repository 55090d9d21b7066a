// The measures of the operator, one after the other on one fixture: each begins and ends with right
// statuses of all resources.
import { setTimeout as delay } from "node:timers/promises";

import type { AuditedRequest } from "@weir/harness/kubernetes/audit-log";
import { E2eError } from "../../errors.ts";
import { percentile } from "../summary.ts";
import { cpuTimeMs, residentMebibytes } from "../cpu-time.ts";
import { atMost, type Figure, type Measure } from "../run-measures.ts";
import { type Fixture, PODS, RESOURCES } from "./fixture.ts";
import type { SeenStatus } from "./status-watch.ts";

/** Time without a write that ends a measure, in milliseconds: longer than every wait of the operator. */
const QUIET_MS = 6000;

/** Longest wait for right statuses, in milliseconds: far beyond every bar, so that a miss is measured. */
const SETTLE_MAX_MS = 180_000;

/** How often it is looked whether statuses are right, in milliseconds. */
const LOOK_MS = 100;

/** Time after which a kubelet has reported that a killed container is not ready, in milliseconds. */
const REPORTED_MS = 1000;

/** Time from the start of one pod of a rolling restart to the next, and for which both run, in milliseconds. */
const ROLLING = { pauseMs: 1000, overlapMs: 500 } as const;

const EDITS = 20;
const BURST_EDITS = 200;
const BURST_MS = 1000;
const REST_MS = 60_000;

/** Edits while a neighbor flaps, the time between two of its changes, and from one edit to the next, in milliseconds. */
const FLAPPING = { edits: 20, everyMs: 1000, pauseMs: 1500 } as const;

/** The status of a resource that all pods have ACKed. */
const READY = "True Ready";

/** All measures in their order; each needs the first one before it. */
export const MEASURES: readonly Measure<Fixture>[] = [
  { id: "connect", run: measureConnect },
  { id: "edit", run: measureEdits },
  { id: "burst", run: measureBurst },
  { id: "rolling", run: measureRollingRestart },
  { id: "flap", run: measureFlappingNeighbor },
  { id: "rest", run: measureRest },
  { id: "kill", run: measureKilledReplica },
  { id: "silent", run: measureSilentReplica },
];

/** Connects all pods to a cluster whose resources no pod has: all statuses change together. */
async function measureConnect(fixture: Fixture): Promise<readonly Figure[]> {
  await settle(fixture, ({ ready }) => ready.startsWith("False NoDataPlane"));
  const before = fixture.writes().length;
  for (let pod = 0; pod < PODS; pod++) fixture.addPod();
  const lastStatusMs = await settle(fixture, isRight);
  const lastAckMs = fixture.lastAckMs() ?? Number.NaN;
  return [
    seconds(
      `${RESOURCES} resources × ${PODS} pods connect: last ACK → last right status`,
      11,
      lastStatusMs - lastAckMs,
    ),
    mostWritesSince(fixture, before),
  ];
}

/** Edits some resources, one after the other, each when the status of the one before is right. */
async function measureEdits(fixture: Fixture): Promise<readonly Figure[]> {
  const before = fixture.writes().length;
  const enforcedMs: number[] = [];
  const readyMs: number[] = [];
  for (let edit = 0; edit < EDITS; edit++) {
    const editedMs = Date.now();
    await fixture.edit(edit, 1000 + edit);
    // The watch may be behind: what it has seen before the edit is no answer to it.
    const lastStatusMs = await until(fixture, isRight, { sinceMs: editedMs });
    enforcedMs.push((fixture.lastAckMs() ?? Number.NaN) - editedMs);
    readyMs.push(lastStatusMs - editedMs);
  }
  await settle(fixture, isRight);
  const writes = statusWrites(fixture, before);
  return [
    writesFigure(`${EDITS} edits: writes of statuses per edit`, 1, writes.length / EDITS),
    writesFigure("the same, most writes of one status", 1, mostWrites(writes)),
    seconds("the same: edit → last ACK, median", 0.164, percentile(enforcedMs, 0.5)),
    seconds("the same: edit → right status, median", 0.493, percentile(readyMs, 0.5)),
    seconds(
      "the same: last ACK → right status, longest",
      5,
      Math.max(...readyMs.map((ms, edit) => ms - enforcedMs[edit]!)),
    ),
  ];
}

/** Edits 200 resources within a second. */
async function measureBurst(fixture: Fixture): Promise<readonly Figure[]> {
  const before = fixture.writes().length;
  const [startedMs, editedMs] = [performance.now(), Date.now()];
  const edits: Promise<void>[] = [];
  for (let edit = 0; edit < BURST_EDITS; edit++) {
    const aheadMs = startedMs + (BURST_MS * edit) / BURST_EDITS - performance.now();
    if (aheadMs > 1) await delay(aheadMs);
    edits.push(fixture.edit(100 + edit, 2000 + edit));
  }
  await Promise.all(edits);
  await until(fixture, isRight, { sinceMs: editedMs });
  const lastStatusMs = await settle(fixture, isRight);
  const most = mostWrites(statusWrites(fixture, before));
  const lastAckMs = fixture.lastAckMs() ?? Number.NaN;
  return [
    writesFigure(`${BURST_EDITS} edits in one second: most writes of a status`, 2, most),
    seconds("the same: last ACK → last right status", 5, lastStatusMs - lastAckMs),
  ];
}

/** Replaces every pod, one after the other: the new one connects before the old one leaves. */
async function measureRollingRestart(fixture: Fixture): Promise<readonly Figure[]> {
  const before = fixture.writes().length;
  for (let pod = 0; pod < PODS; pod++) {
    fixture.addPod();
    await delay(ROLLING.overlapMs);
    fixture.removePod();
    await delay(ROLLING.pauseMs - ROLLING.overlapMs);
  }
  await settle(fixture, isRight);
  const most = mostWrites(statusWrites(fixture, before));
  const what = `rolling restart of ${PODS} pods in ${(PODS * ROLLING.pauseMs) / 1000} s: most writes of a status`;
  return [writesFigure(what, 6, most)];
}

/** Edits resources while a pod of another tenant comes and goes: it changes the counts of every status. */
async function measureFlappingNeighbor(fixture: Fixture): Promise<readonly Figure[]> {
  const before = fixture.writes().length;
  const over = new AbortController();
  const flapping = (async () => {
    while (!over.signal.aborted) {
      fixture.addPod();
      await delay(FLAPPING.everyMs);
      fixture.removePod();
      await delay(FLAPPING.everyMs);
    }
  })();
  const tookMs: number[] = [];
  for (let edit = 0; edit < FLAPPING.edits; edit++) {
    const editedMs = Date.now();
    await fixture.edit(500 + edit, 3000 + edit);
    tookMs.push((await untilReady(fixture, `limits-${500 + edit}`, editedMs)) - editedMs);
    await delay(FLAPPING.pauseMs);
  }
  over.abort();
  await flapping;
  const writes = statusWrites(fixture, before).length;
  await settle(fixture, isRight);
  return [
    seconds("a neighbor's pod comes and goes: edit → Ready, 90th percentile", 2.5, percentile(tookMs, 0.9)),
    { what: "the same, writes of statuses in all", value: writes, unit: "writes" },
  ];
}

/** Nothing changes for a minute. */
async function measureRest(fixture: Fixture): Promise<readonly Figure[]> {
  const { pid } = fixture.operator;
  await settle(fixture, isRight);
  await settleWrites(fixture);
  const before = fixture.writes().length;
  const [startedMs, usedMs] = [performance.now(), cpuTimeMs(pid)];
  await delay(REST_MS);
  const share = (cpuTimeMs(pid) - usedMs) / (performance.now() - startedMs);
  const writes = fixture.writes().length - before;
  return [
    writesFigure(`at rest for ${REST_MS / 1000} s: writes but those of the Lease`, 0, writes),
    { what: "at rest: share of a core", bar: atMost(1), value: share * 100, unit: "%" },
    { what: "resident memory after all of this", bar: atMost(200), value: residentMebibytes(pid), unit: "MiB" },
  ];
}

/** Kills a replica whose endpoint is gone a second later: its pods go to the other one. */
async function measureKilledReplica(fixture: Fixture): Promise<readonly Figure[]> {
  const before = fixture.writes().length;
  const killedMs = Date.now();
  fixture.replicas[1]!.process.kill();
  await delay(REPORTED_MS);
  await fixture.setEndpoints(0);
  const lastStatusMs = await settle(fixture, isRight);
  const tookMs = Math.max(0, lastStatusMs - killedMs);
  return [
    seconds("a replica killed, its endpoint gone after 1 s: → last right status", 20, tookMs),
    mostWritesSince(fixture, before),
  ];
}

/** Adds an endpoint at which no replica answers, as that of one on a lost node, and takes it away again. */
async function measureSilentReplica(fixture: Fixture): Promise<readonly Figure[]> {
  fixture.replicas[1]!.process.kill();
  await fixture.setEndpoints(0);
  await settle(fixture, isRight);
  await fixture.setEndpoints(0, 1);
  const lostMs = Date.now();
  const unknownMs = await settle(fixture, ({ ready }) => ready === "Unknown ReplicaSilent");
  await fixture.setEndpoints(0);
  const goneMs = Date.now();
  const rightMs = await settle(fixture, isRight);
  return [
    seconds("a replica that is an endpoint and does not answer → all statuses say so", 20, unknownMs - lostMs),
    seconds("its endpoint gone → last right status", 20, rightMs - goneMs),
  ];
}

/** A time of at most so many seconds. */
function seconds(what: string, most: number, tookMs: number): Figure {
  return { what, bar: atMost(most), value: tookMs / 1000, unit: "s" };
}

/** At most so many writes. */
function writesFigure(what: string, most: number, value: number): Figure {
  return { what, bar: atMost(most), value, unit: "writes" };
}

function mostWritesSince(fixture: Fixture, before: number): Figure {
  return {
    what: "the same, most writes of a status",
    value: mostWrites(statusWrites(fixture, before)),
    unit: "writes",
  };
}

function isRight({ isCurrent, ready, pods }: SeenStatus): boolean {
  return isCurrent && ready === READY && pods === `${PODS}/${PODS}`;
}

function statusWrites(fixture: Fixture, before: number): readonly AuditedRequest[] {
  return fixture
    .writes()
    .slice(before)
    .filter(({ resource }) => resource === "ratelimitconfigs/status");
}

function mostWrites(writes: readonly AuditedRequest[]): number {
  const counts = Map.groupBy(writes, ({ name }) => name);
  return Math.max(0, ...Array.from(counts.values(), (each) => each.length));
}

/** Resolves with the time of the last change of a status once all are right and nothing has changed for a while. */
async function settle(fixture: Fixture, isWanted: (status: SeenStatus) => boolean): Promise<number> {
  let lastMs = await until(fixture, isWanted);
  while (Date.now() - lastMs < QUIET_MS) {
    await delay(LOOK_MS);
    lastMs = await until(fixture, isWanted);
  }
  return lastMs;
}

/** Resolves with the time at which the status of an edit that was made at `editedMs` became Ready. */
async function untilReady(fixture: Fixture, name: string, editedMs: number): Promise<number> {
  const deadlineMs = Date.now() + SETTLE_MAX_MS;
  while (Date.now() < deadlineMs) {
    const status = fixture.watch.statuses().get(name);
    if (status?.isCurrent === true && status.ready === READY && status.seenMs > editedMs) return status.seenMs;
    await delay(LOOK_MS / 10);
  }
  throw new E2eError("BENCHMARK_FAILED", `${name} is not Ready ${SETTLE_MAX_MS / 1000} s after an edit`);
}

/** Resolves when nothing but the Lease has been written for a while: events may come later than statuses. */
async function settleWrites(fixture: Fixture): Promise<void> {
  for (let before = -1; before !== fixture.writes().length;) {
    before = fixture.writes().length;
    await delay(QUIET_MS);
  }
}

/** Resolves with the time of the last change of a status once all are right and one has changed since then. */
async function until(
  fixture: Fixture,
  isWanted: (status: SeenStatus) => boolean,
  { sinceMs = 0 }: { readonly sinceMs?: number } = {},
): Promise<number> {
  const deadlineMs = Date.now() + SETTLE_MAX_MS;
  for (;;) {
    const statuses = [...fixture.watch.statuses().values()];
    const wrong = statuses.filter((status) => !isWanted(status));
    const lastMs = Math.max(...statuses.map(({ seenMs }) => seenMs));
    if (statuses.length === RESOURCES && wrong.length === 0 && lastMs > sinceMs) return lastMs;
    if (Date.now() > deadlineMs) {
      const [first] = wrong;
      throw new E2eError(
        "BENCHMARK_FAILED",
        `After ${SETTLE_MAX_MS / 1000} s ${wrong.length} of ${statuses.length} statuses are not right, such as ${JSON.stringify(first)}`,
      );
    }
    await delay(LOOK_MS);
  }
}
