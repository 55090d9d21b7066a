import { describe, expect, it } from "vitest";
import { cpuTimeMs, parseCpuTimeMs, parseMebibytes, waitedForCoreMs } from "./cpu-time.ts";

describe("parseCpuTimeMs()", () => {
  it("adds user and kernel time when the name of the program holds spaces and brackets", () => {
    const stat =
      "4242 (node (a) b) S 1 4242 4242 0 -1 4194304 900 0 0 0 153 47 0 0 20 0 11 0 1234 1000000 5000 18446744073709551615";
    expect(parseCpuTimeMs(stat)).toBe(2000);
  });
});

describe("cpuTimeMs()", () => {
  it("is a number above zero when asked about this process", () => {
    expect(cpuTimeMs(process.pid)).toBeGreaterThan(0);
  });
});

describe("waitedForCoreMs()", () => {
  it("is not a number when the process does not exist", () => {
    expect(waitedForCoreMs(0)).toBeNaN();
  });
});

describe("parseMebibytes()", () => {
  const status = "Name:\tnode\nVmPeak:\t 1000000 kB\nVmHWM:\t  262144 kB\nVmRSS:\t  131072 kB\nRssAnon:\t 90000 kB\n";

  it.each([
    { status, field: "VmRSS", mebibytes: 128 },
    { status, field: "VmHWM", mebibytes: 256 },
    { status: "Name:\tnode\nState:\tZ (zombie)\n", field: "VmRSS", mebibytes: NaN },
  ] as const)("is $mebibytes when the field is $field and the status $status", ({ field, mebibytes, ...row }) => {
    expect(parseMebibytes(row.status, field)).toBe(mebibytes);
  });
});
