// Encodes profiles of V8 for `go tool pprof`.
import type { HeapProfiler, Profiler } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { Function as ProfileFunction, Location, Profile, Sample, StringTable, ValueType } from "pprof-format";

/** A function in the tree of calls. `own` has a value of each kind for its lines, which count from 1. */
interface CallNode {
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly own: readonly { readonly line: number; readonly values: readonly number[] }[];
  readonly children: readonly CallNode[];
}

/** Samples and nanoseconds of CPU by the lines of functions, gzipped. Time without work is left out. */
export function encodeCpuProfile({ nodes, samples = [], startTime, endTime }: Profiler.Profile): Buffer {
  const durationMs = (endTime - startTime) / 1000;
  const nanosPerSample = Math.round((durationMs * 1e6) / Math.max(1, samples.length));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const convert = ({ callFrame, hitCount = 0, positionTicks = [], children = [] }: Profiler.ProfileNode): CallNode => {
    const unplaced = positionTicks.reduce((rest, { ticks }) => rest - ticks, hitCount);
    const own = [...positionTicks, { line: callFrame.lineNumber + 1, ticks: unplaced }]
      .filter(({ ticks }) => ticks > 0 && callFrame.functionName !== "(idle)")
      .map(({ line, ticks }) => ({ line, values: [ticks, ticks * nanosPerSample] }));
    return { callFrame, own, children: children.flatMap((id) => byId.get(id) ?? []).map(convert) };
  };
  const kinds = [["samples", "count"] as const, ["cpu", "nanoseconds"] as const];
  return encode(nodes.slice(0, 1).map(convert), kinds, durationMs);
}

/** Bytes in use by the functions that allocated them, gzipped. */
export function encodeHeapProfile({ head }: HeapProfiler.SamplingHeapProfile): Buffer {
  const convert = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode): CallNode => ({
    callFrame,
    own: selfSize > 0 ? [{ line: callFrame.lineNumber + 1, values: [Math.round(selfSize)] }] : [],
    children: children.map(convert),
  });
  return encode([convert(head)], [["inuse_space", "bytes"]], 0);
}

function encode(roots: readonly CallNode[], kinds: readonly (readonly [string, string])[], durationMs: number): Buffer {
  const texts = new StringTable();
  const profile = new Profile({
    sampleType: kinds.map(([type, unit]) => new ValueType({ type: texts.dedup(type), unit: texts.dedup(unit) })),
    mapping: [{ id: 1, filename: texts.dedup("weir-ratelimit"), hasFunctions: true, hasLineNumbers: true }],
    timeNanos: BigInt(Math.round(Date.now() - durationMs)) * 1_000_000n,
    durationNanos: Math.round(durationMs * 1e6),
    stringTable: texts,
  });
  const ids = new Map<string, number>();
  const locationOf = ({ functionName, url, lineNumber }: CallNode["callFrame"], line = lineNumber + 1): number =>
    ids.getOrInsertComputed([url, lineNumber, functionName, line].join("\n"), () => {
      const id = ids.size + 1;
      const name = texts.dedup(functionName === "" ? "(anonymous)" : functionName);
      const filename = texts.dedup(url.startsWith("file://") ? fileURLToPath(url) : url);
      profile.function.push(new ProfileFunction({ id, name, filename, startLine: lineNumber + 1 }));
      profile.location.push(new Location({ id, mappingId: 1, line: [{ functionId: id, line }] }));
      return id;
    });
  const add = ({ callFrame, own, children }: CallNode, callers: readonly number[]): void => {
    for (const { line, values } of own)
      profile.sample.push(new Sample({ locationId: [locationOf(callFrame, line), ...callers], value: [...values] }));
    const stack = callFrame.functionName === "(root)" ? callers : [locationOf(callFrame), ...callers];
    for (const child of children) add(child, stack); // As deep as the stacks that V8 keeps.
  };
  for (const root of roots) add(root, []);
  return gzipSync(profile.encode());
}
