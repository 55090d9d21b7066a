// The conversion of small, hand-made profiles of V8. profiles.system.test.ts reads the result
// with `go tool pprof`.
import { gunzipSync } from "node:zlib";

import { Profile } from "pprof-format";
import { describe, expect, it } from "vitest";

import { convertCpuProfile } from "./cpu-profile.ts";
import { convertHeapProfile, objectsIn } from "./heap-profile.ts";

const TAKEN_AT_MS = 1_700_000_000_000;

function read(file: Buffer): Profile {
  return Profile.decode(gunzipSync(file));
}

/** Each sample as "function:line < caller:line ... = values". */
function linesOf({ sample, location, function: functions, stringTable }: Profile): readonly string[] {
  const place = (id: number | bigint): string => {
    const line = location.find((entry) => entry.id === id)?.line[0];
    const name = functions.find((entry) => entry.id === line?.functionId)?.name ?? -1;
    return `${stringTable.strings[Number(name)] ?? "?"}:${line?.line ?? -1}`;
  };
  const signed = (value: number | bigint): bigint => BigInt.asIntN(64, BigInt(value)); // It decodes as unsigned.
  return sample.map(({ locationId, value }) => `${locationId.map(place).join(" < ")} = ${value.map(signed).join(" ")}`);
}

function frame(
  functionName: string,
  lineNumber = -1,
  url = "",
): { functionName: string; scriptId: string; url: string; lineNumber: number; columnNumber: number } {
  return { functionName, scriptId: "1", url, lineNumber, columnNumber: 0 };
}

const CPU = {
  nodes: [
    { id: 1, callFrame: frame("(root)"), hitCount: 0, children: [2, 5] },
    { id: 2, callFrame: frame("main", 9, "file:///app/a%20b.js"), hitCount: 1, children: [3, 4] },
    { id: 3, callFrame: frame("", 19, "file:///app/a%20b.js"), hitCount: 3, positionTicks: [{ line: 21, ticks: 2 }] },
    { id: 4, callFrame: frame("(garbage collector)"), hitCount: 1 },
    { id: 5, callFrame: frame("(idle)"), hitCount: 1 },
  ],
  startTime: 1000,
  endTime: 9000,
  samples: [2, 3, 3, 3, 5, 4],
  timeDeltas: [100, 1000, 1000, 1000, 1000, 2000],
};

describe("convertCpuProfile()", () => {
  const profile = read(convertCpuProfile(CPU, { intervalUs: 1000, takenAtMs: TAKEN_AT_MS }));

  it("convertCpuProfile() gives each sample the time until the next, by line, without idle time", () => {
    expect(linesOf(profile)).toEqual([
      "main:10 = 1 1000000",
      "(anonymous):21 < main:10 = 2 2000000",
      "(anonymous):20 < main:10 = 1 1000000",
      "(garbage collector):0 < main:10 = 1 1900000",
    ]);
  });

  it("convertCpuProfile() says what the values are, when and how long", () => {
    const {
      sampleType,
      periodType,
      period,
      timeNanos,
      durationNanos,
      stringTable,
      function: functions,
      mapping,
    } = profile;
    const text = (index: number | bigint | undefined): string | undefined => stringTable.strings[Number(index)];
    expect(sampleType.map(({ type, unit }) => `${text(type) ?? ""}/${text(unit) ?? ""}`)).toEqual([
      "samples/count",
      "cpu/nanoseconds",
    ]);
    expect([text(periodType?.type), period, timeNanos, durationNanos]).toEqual([
      "cpu",
      1_000_000,
      1_700_000_000_000_000_000n,
      8_000_000,
    ]);
    expect(stringTable.strings[0]).toBe("");
    expect([text(functions[0]?.filename), functions[0]?.startLine, text(mapping[0]?.filename)]).toEqual([
      "/app/a b.js",
      10,
      "weir-ratelimit",
    ]);
  });

  it("convertCpuProfile() takes times that step back, and a profile without samples", () => {
    const back = { ...CPU, samples: [2, 2, 2], timeDeltas: [100, 1000, -50] };
    expect(linesOf(read(convertCpuProfile(back, { intervalUs: 1000, takenAtMs: 0 })))).toEqual(["main:10 = 3 7950000"]);
    const none = { nodes: CPU.nodes, startTime: 0, endTime: 0 };
    expect(linesOf(read(convertCpuProfile(none, { intervalUs: 1000, takenAtMs: 0 })))).toEqual([]);
  });
});

describe("convertHeapProfile()", () => {
  const INTERVAL = 1_048_320;
  const heap = {
    head: {
      id: 1,
      callFrame: frame("(root)"),
      selfSize: 0,
      children: [
        {
          id: 2,
          callFrame: frame("main", 9),
          selfSize: 3_000_000,
          children: [{ id: 3, callFrame: frame("", 19), selfSize: 2 * (INTERVAL + 48), children: [] }],
        },
      ],
    },
    samples: [
      { nodeId: 2, size: 3_000_000 },
      { nodeId: 3, size: INTERVAL + 48 },
      { nodeId: 3, size: INTERVAL + 48 },
    ],
  };
  const facts = { intervalBytes: INTERVAL, takenAtMs: TAKEN_AT_MS, durationMs: 0 };

  it("convertHeapProfile() gives objects and bytes to the stack that allocated them", () => {
    const profile = read(convertHeapProfile(heap, facts));
    expect(linesOf(profile)).toEqual(["main:10 = 1 3000000", "(anonymous):20 < main:10 = 43682 2096736"]);
    const text = (index: number | bigint): string | undefined => profile.stringTable.strings[Number(index)];
    expect(profile.sampleType.map(({ type, unit }) => `${text(type) ?? ""}/${text(unit) ?? ""}`)).toEqual([
      "inuse_objects/count",
      "inuse_space/bytes",
    ]);
    expect(text(profile.defaultSampleType)).toBe("inuse_space");
  });

  it("convertHeapProfile() takes away what was there before", () => {
    const before = {
      head: { ...heap.head, selfSize: 4096 },
      samples: [
        { nodeId: 1, size: 4096 },
        { nodeId: 2, size: 3_000_000 },
      ],
    };
    expect(linesOf(read(convertHeapProfile(heap, { ...facts, durationMs: 1000 }, before))).slice(2)).toEqual([
      "(native):0 = -1 -4096",
      "main:10 = -1 -3000000",
      "(anonymous):20 < main:10 = -1 -2096736",
    ]);
  });

  it.each([
    { objectBytes: 16, sampleBytes: 1_048_336, objects: 65_521 },
    { objectBytes: 24, sampleBytes: 1_048_344, objects: 43_681 },
    { objectBytes: 40, sampleBytes: 1_048_360, objects: 26_209 },
    { objectBytes: 48, sampleBytes: 1_048_368, objects: 21_841 },
    { objectBytes: 104, sampleBytes: 1_048_424, objects: 10_081 },
    { objectBytes: 1_048_320, sampleBytes: 2_096_640, objects: 2 },
    { objectBytes: 9_909_528, sampleBytes: 9_909_528, objects: 1 },
    { objectBytes: 100, sampleBytes: 100, objects: 1 },
  ])("objectsIn() returns $objects objects when one has $objectBytes bytes", ({ sampleBytes, objects }) => {
    expect(objectsIn(sampleBytes, INTERVAL)).toBe(objects);
  });
});
