// Plays requests against a limit in virtual time. Pure.
import { type Unit, UNIT_SECONDS } from "@weir/limits/model/unit";

/** The requests: a burst at the start and a steady rate from then on. */
export interface Load {
  /** The time of the first request, in milliseconds since the epoch. */
  readonly startMs: number;
  readonly durationMs: number;
  /** Requests that come at the start, in addition to those of the rate. */
  readonly burst: number;
  /** Requests in each unit of time, evenly apart. */
  readonly rate: { readonly count: number; readonly unit: Unit };
  /** Hits of each request. */
  readonly hits: number;
}

/** A part of the time, in milliseconds since the start, and its requests. */
export interface Part {
  readonly fromMs: number;
  readonly toMs: number;
  passed: number;
  rejected: number;
}

/** The result. */
export interface Simulation {
  /** In the order of time: seconds, or tenths of a time that is longer than ten seconds. */
  readonly parts: readonly Part[];
  readonly passed: number;
  readonly rejected: number;
  /** When requests passed, in milliseconds since the start. */
  readonly passedMs: readonly number[];
}

/** Most parts. */
const PARTS_MAX = 10;

/** Plays the requests in the order of time. `passes` decides a request at a time since the epoch, and counts it. */
export function simulate(load: Load, passes: (nowMs: number) => boolean): Simulation {
  const parts = partsOf(load.durationMs);
  const passedMs: number[] = [];
  let [part, ...later] = parts;
  for (const atMs of arrivals(load)) {
    while (part !== undefined && atMs >= part.toMs) [part, ...later] = later;
    if (part === undefined) break;
    if (passes(load.startMs + atMs)) {
      part.passed += 1;
      passedMs.push(atMs);
    } else {
      part.rejected += 1;
    }
  }
  return { parts, passed: passedMs.length, rejected: countRequests(load) - passedMs.length, passedMs };
}

/** The number of requests: those of the rate come before the end. */
export function countRequests({ durationMs, burst, rate }: Load): number {
  return burst + Math.ceil((durationMs * rate.count) / unitMs(rate));
}

/** The most requests that passed in any span of this length, wherever it begins. */
export function mostWithin(passedMs: readonly number[], spanMs: number): number {
  let [most, first] = [0, 0];
  passedMs.forEach((atMs, index) => {
    while ((passedMs[first] ?? atMs) <= atMs - spanMs) first += 1;
    most = Math.max(most, index - first + 1);
  });
  return most;
}

/** The times of the requests since the start, as the clock of a pod shows them: in whole milliseconds. */
function* arrivals(load: Load): Generator<number> {
  const { burst, rate } = load;
  for (let index = 0; index < burst; index++) yield 0;
  const steady = countRequests(load) - burst;
  for (let index = 0; index < steady; index++) yield Math.floor((index * unitMs(rate)) / rate.count);
}

function unitMs({ unit }: Load["rate"]): number {
  return UNIT_SECONDS[unit] * 1000;
}

function partsOf(durationMs: number): Part[] {
  const isShort = durationMs <= PARTS_MAX * 1000;
  const number = isShort ? Math.ceil(durationMs / 1000) : PARTS_MAX;
  const edge = (index: number): number =>
    isShort ? Math.min(durationMs, index * 1000) : Math.floor((index * durationMs) / number);
  return Array.from({ length: number }, (_, index) => ({
    fromMs: edge(index),
    toMs: edge(index + 1),
    passed: 0,
    rejected: 0,
  }));
}
