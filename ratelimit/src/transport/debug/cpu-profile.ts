// Converts a CPU profile of V8 to one that `go tool pprof` reads.
import type { Profiler } from "node:inspector/promises";

import { type LocationId, ProfileBuilder } from "./profile-builder.ts";

/** Frames of V8 without work: the bottom of every stack, and waiting. */
const ROOT = "(root)";
const IDLE = "(idle)";

const NANOSECONDS_PER_MICROSECOND = 1000;

/** A node of the tree of calls with its samples. */
interface Seen {
  readonly node: Profiler.ProfileNode;
  parent: Seen | undefined;
  samples: number;
  microseconds: number;
}

/**
 * The profile, gzipped: samples and nanoseconds of CPU, by the lines of functions. Time without
 * work is left out. `intervalUs` is the time between two samples, in microseconds.
 */
export function convertCpuProfile(
  profile: Profiler.Profile,
  { intervalUs, takenAtMs }: { readonly intervalUs: number; readonly takenAtMs: number },
): Buffer {
  const builder = new ProfileBuilder({
    kinds: [
      ["samples", "count"],
      ["cpu", "nanoseconds"],
    ],
    period: intervalUs * NANOSECONDS_PER_MICROSECOND,
    takenAtMs,
    durationMs: (profile.endTime - profile.startTime) / 1000,
  });
  const seen = treeOf(profile.nodes);
  countSamples(profile, seen);
  for (const entry of seen.values()) {
    const { functionName } = entry.node.callFrame;
    if (entry.samples > 0 && functionName !== ROOT && functionName !== IDLE) addSamples(builder, entry);
  }
  return builder.build();
}

function treeOf(nodes: readonly Profiler.ProfileNode[]): ReadonlyMap<number, Seen> {
  const seen = new Map<number, Seen>();
  for (const node of nodes) seen.set(node.id, { node, parent: undefined, samples: 0, microseconds: 0 });
  for (const parent of seen.values()) {
    for (const id of parent.node.children ?? []) {
      const child = seen.get(id);
      if (child !== undefined) child.parent = parent;
    }
  }
  return seen;
}

/** A sample counts for the time until the next one. Times of V8 may step back by a little. */
function countSamples(profile: Profiler.Profile, seen: ReadonlyMap<number, Seen>): void {
  const { samples = [], timeDeltas = [], startTime, endTime } = profile;
  let atUs = startTime;
  for (const [index, id] of samples.entries()) {
    atUs += timeDeltas[index] ?? 0;
    const entry = seen.get(id);
    if (entry === undefined) continue;
    entry.samples += 1;
    entry.microseconds += Math.max(0, timeDeltas[index + 1] ?? endTime - atUs);
  }
}

/** Adds a sample for each line that ran; samples without a line count at the function's first. */
function addSamples(builder: ProfileBuilder, { node, parent, samples, microseconds }: Seen): void {
  const callers = stackOf(builder, parent);
  const perSample = (microseconds * NANOSECONDS_PER_MICROSECOND) / samples;
  let rest = samples;
  for (const { line, ticks } of node.positionTicks ?? []) {
    const count = Math.min(ticks, rest);
    if (count === 0) continue;
    rest -= count;
    builder.add([builder.location(node.callFrame, line), ...callers], [count, Math.round(count * perSample)]);
  }
  if (rest > 0) builder.add([builder.location(node.callFrame), ...callers], [rest, Math.round(rest * perSample)]);
}

function stackOf(builder: ProfileBuilder, innermost: Seen | undefined): readonly LocationId[] {
  const stack: LocationId[] = [];
  for (let entry = innermost; entry !== undefined; entry = entry.parent) {
    if (entry.node.callFrame.functionName !== ROOT) stack.push(builder.location(entry.node.callFrame));
  }
  return stack;
}
