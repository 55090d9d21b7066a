// The control plane at the scale of 20,000 resources in 500 namespaces with 1,000 pods in 50 fleets: edits, one a second,
// and bursts of them.
import { setTimeout as delay } from "node:timers/promises";

import { cpuTimeMs, peakMebibytes } from "../cpu-time.ts";
import { type ControlPlaneBench, finish, type Place, quietOf, start } from "./measures.ts";
import type { SetSize } from "./sets.ts";

const FLEETS = 50;

/** Half of the resources are for every fleet. */
const SET: SetSize = { resources: 20_000, longRules: 0, namespaces: 500, fleets: FLEETS };
const PODS = 1000;

/** Edits, and bursts of so many; in the state-of-the-world variant each edit sends gigabytes. */
const LOADS = { incremental: { edits: 30, bursts: 5 }, whole: { edits: 5, bursts: 1 } } as const;
const BURST_EDITS = 200;

/** From one edit to the next, in milliseconds. */
const EDIT_INTERVAL_MS = 1000;

/** The cost of edits of a set of 20,000 resources in 500 namespaces, with 1,000 pods of 50 fleets. */
export interface ScaleMeasured {
  /** Of each edit, one a second, and pod: until it has ACKed, in milliseconds. */
  readonly editMs: readonly number[];
  /** Bytes of the response besides the resource; NaN in the state-of-the-world variant. */
  readonly extraBytes: readonly number[];
  /**
   * The part of a core that the control plane needs for an edit a second, 0 to 1: by its processor time for each edit,
   * so that edits which take longer than a second, as on a busy machine, do not make it look less.
   */
  readonly coreShare: number;
  /** Of each burst and pod: from the first edit until it has ACKed all, in milliseconds. */
  readonly burstMs: readonly number[];
  /** Before the report that the check at the end asks for, and with it. */
  readonly peakMemoryMib: number;
  readonly reportMemoryMib: number;
}

/** Edits at scale; each is of a resource that all pods have. */
export async function measureScale(
  bench: ControlPlaneBench,
  { place, isIncremental }: { readonly place: Place; readonly isIncremental: boolean },
): Promise<ScaleMeasured> {
  const setup = { place, set: SET, pods: PODS, isTls: true, isIncremental };
  const { resources, controlPlane, fleet } = await start(bench, setup);
  const { pid } = controlPlane.process;
  const { edits, bursts } = LOADS[isIncremental ? "incremental" : "whole"];
  const edit = (number: number, limit: number) => resources.write((2 * number) % SET.resources, limit);
  const [startedMs, usedMs] = [performance.now(), cpuTimeMs(pid)];
  const [editMs, extraBytes]: [number[], number[]] = [[], []];
  const { counts } = await fleet.look();
  for (let number = 1; number <= edits; number++) {
    const aheadMs = startedMs + number * EDIT_INTERVAL_MS - performance.now();
    if (aheadMs > 1) await delay(aheadMs);
    const editedMs = Date.now();
    await edit(number, 1 + number);
    const { arrivals } = await fleet.awaitResponse(counts[0]! + number);
    editMs.push(...arrivals.map(({ atMs }) => atMs - editedMs));
    extraBytes.push(...arrivals.map(({ extraBytes: bytes = NaN }) => bytes));
  }
  const coreShare = (cpuTimeMs(pid) - usedMs) / (edits * EDIT_INTERVAL_MS);
  const burstMs: number[] = [];
  for (let burst = 1; burst <= bursts; burst++) {
    const editedMs = Date.now();
    const numbers = Array.from({ length: BURST_EDITS }, (_, index) => burst * BURST_EDITS + index);
    await Promise.all(
      numbers.map(async (number) => {
        await edit(number, 100 + burst);
      }),
    );
    const { arrivals } = await quietOf(fleet);
    burstMs.push(...arrivals.map(({ atMs }) => atMs - editedMs));
  }
  const peakMemoryMib = peakMebibytes(pid);
  const { peakMemoryMib: reportMemoryMib } = await finish(controlPlane, fleet, [], { fleets: FLEETS });
  return { editMs, extraBytes, coreShare, burstMs, peakMemoryMib, reportMemoryMib };
}
