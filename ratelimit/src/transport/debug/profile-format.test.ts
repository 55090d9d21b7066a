// The conversion of small, hand-made profiles of V8. profiles.system.test.ts reads the result
// with `go tool pprof`.
import { gunzipSync } from "node:zlib";

import { Profile } from "pprof-format";
import { describe, expect, it } from "vitest";

import { encodeCpuProfile, encodeHeapProfile } from "./profile-format.ts";

function read(file: Buffer): Profile {
  return Profile.decode(gunzipSync(file));
}

/** The kinds of values, such as "cpu/nanoseconds". */
function kindsOf({ sampleType, stringTable }: Profile): readonly string[] {
  const text = (index: number | bigint): string => stringTable.strings[Number(index)] ?? "?";
  return sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`);
}

/** Each sample as "function:line < caller:line ... = values". */
function linesOf({ sample, location, function: functions, stringTable }: Profile): readonly string[] {
  const place = (id: number | bigint): string => {
    const line = location.find((entry) => entry.id === id)?.line[0];
    const name = functions.find((entry) => entry.id === line?.functionId)?.name ?? -1;
    return `${stringTable.strings[Number(name)] ?? "?"}:${line?.line ?? -1}`;
  };
  return sample.map(({ locationId, value }) => `${locationId.map(place).join(" < ")} = ${value.join(" ")}`);
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

describe("encodeCpuProfile()", () => {
  const profile = read(encodeCpuProfile(CPU));

  it("encodeCpuProfile() gives each sample an equal part of the time, by line, without idle time", () => {
    expect(linesOf(profile)).toEqual([
      "main:10 = 1 1333333",
      "(anonymous):21 < main:10 = 2 2666666",
      "(anonymous):20 < main:10 = 1 1333333",
      "(garbage collector):0 < main:10 = 1 1333333",
    ]);
  });

  it("encodeCpuProfile() says what the values are, how long it took, and where functions are", () => {
    const { durationNanos, stringTable, function: functions, mapping } = profile;
    expect(kindsOf(profile)).toEqual(["samples/count", "cpu/nanoseconds"]);
    expect(durationNanos).toBe(8_000_000);
    expect(stringTable.strings[0]).toBe("");
    const text = (index: number | bigint | undefined): string | undefined => stringTable.strings[Number(index)];
    expect([text(functions[0]?.filename), functions[0]?.startLine, text(mapping[0]?.filename)]).toEqual([
      "/app/a b.js",
      10,
      "weir-ratelimit",
    ]);
  });

  it("encodeCpuProfile() takes a profile without samples", () => {
    const nodes = CPU.nodes.map((node) => ({ ...node, hitCount: 0, positionTicks: [] }));
    expect(linesOf(read(encodeCpuProfile({ nodes, startTime: 0, endTime: 0 })))).toEqual([]);
  });
});

describe("encodeHeapProfile()", () => {
  it("encodeHeapProfile() gives bytes to the stack that allocated them", () => {
    const inner = { callFrame: frame("", 19), selfSize: 2_096_736.4, children: [] };
    const main = { callFrame: frame("main", 9), selfSize: 3_000_000, children: [inner] };
    const profile = read(encodeHeapProfile({ head: { callFrame: frame("(root)"), selfSize: 4096, children: [main] } }));
    expect(linesOf(profile)).toEqual(["(root):0 = 4096", "main:10 = 3000000", "(anonymous):20 < main:10 = 2096736"]);
    expect(kindsOf(profile)).toEqual(["inuse_space/bytes"]);
  });
});
