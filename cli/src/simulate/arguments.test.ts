// Tests of the command line of `weir simulate`.
import { describe, expect, it } from "vitest";

import { parseSimulateArguments } from "./arguments.ts";

const REQUIRED = ["-f", "a.yaml", "--rate", "20/s"];

describe("parseSimulateArguments()", () => {
  it("reads every flag", () => {
    const args = ["-f", "a.yaml", "--dir=limits", "--rate=3/h", "--burst", "100", "--for", "36h", "--hits=5"];
    const rest = ["--at=2026-01-31T12:00:00Z", "-d", "a=b,c=d", "--domain", "shop", "--fleet=edge", "-o", "json"];
    expect(parseSimulateArguments([...args, ...rest, "--merge-domains", "--skip-other-kinds"])).toEqual({
      paths: ["a.yaml", "limits"],
      domain: "shop",
      descriptor: [
        { key: "a", value: "b" },
        { key: "c", value: "d" },
      ],
      fleet: "edge",
      load: {
        startMs: 1_769_860_800_000,
        durationMs: 129_600_000,
        burst: 100,
        rate: { count: 3, unit: "HOUR" },
        hits: 5,
      },
      format: "json",
      mergeDomains: true,
      skipOtherKinds: true,
    });
  });

  it("plays a minute from 2026 on without a burst unless flags say otherwise", () => {
    expect(parseSimulateArguments(REQUIRED)).toMatchObject({
      domain: "",
      descriptor: undefined,
      load: {
        startMs: 1_767_225_600_000,
        durationMs: 60_000,
        burst: 0,
        rate: { count: 20, unit: "SECOND" },
        hits: 1,
      },
      format: "text",
      mergeDomains: false,
      skipOtherKinds: false,
    });
  });

  it.each([
    { args: ["--rate", "20/s"], message: "no rules given: name a file with --file, or a directory with --dir" },
    { args: ["-f", "a.yaml"], message: "no rate given: write one as --rate 20/s" },
    { args: [...REQUIRED, "b.yaml"], message: 'unexpected argument "b.yaml": name files with --file' },
    ...["20", "0/s", "1.5/s", "20/w", "20/second", "-1/s"].map((rate) => ({
      args: ["-f", "a.yaml", `--rate=${rate}`],
      message: `--rate must be a whole number from 1 on per s, m, h or d, such as 20/s, is "${rate}"`,
    })),
    {
      args: [...REQUIRED, "--burst", "1k"],
      message: '--burst must be a whole number from 0 to 10000000, is "1k"',
    },
    {
      args: [...REQUIRED, "--hits", "0"],
      message: '--hits must be a whole number from 1 to 4294967295, is "0"',
    },
    ...["5", "0", "0s", "150us", "1w"].map((duration) => ({
      args: [...REQUIRED, "--for", duration],
      message: `--for must be a duration of whole milliseconds, such as 90s, 5m, 36h or 7d, is "${duration}"`,
    })),
    {
      args: [...REQUIRED, "--at", "noon"],
      message: '--at must be like 2026-01-31T12:00:00Z or seconds since the epoch, is "noon"',
    },
    {
      args: [...REQUIRED, "--for", "7d", "--burst=5"],
      message: "--rate 20/s for 168h and --burst 5 are 12096005 requests, at most 10000000 are simulated",
    },
    {
      args: [...REQUIRED, "-d", "a=b", "-d", "c=d"],
      message: "--descriptor may be given once: one limit is simulated",
    },
    { args: [...REQUIRED, "-d", "a"], message: 'an entry must be key=value, is "a" in "a"' },
    { args: [...REQUIRED, "-o", "yaml"], message: 'the output must be text or json, is "yaml"' },
  ])("refuses $args", ({ args, message }) => {
    expect(parseSimulateArguments(args)).toBe(message);
  });
});
