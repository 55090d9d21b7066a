// The grammar of values, by tables. Go decides where a text is allowed and what it means; see
// strconv.ParseInt, ParseBool and time.ParseDuration.
import { describe, expect, it } from "vitest";

import {
  formatDurationMs,
  parseBoolean,
  parseDurationMs,
  parseInteger,
  parseNumber,
  parseSizeBytes,
} from "./parse-values.ts";

describe("parseInteger()", () => {
  it.each([
    { text: "0", value: 0 },
    { text: "-0", value: 0 },
    { text: "8081", value: 8081 },
    { text: "+7", value: 7 },
    { text: "-12", value: -12 },
    { text: "0x1F", value: 31 },
    { text: "0X1f", value: 31 },
    { text: "-0x10", value: -16 },
    { text: "0o17", value: 15 },
    { text: "017", value: 15 },
    { text: "00", value: 0 },
    { text: "0b101", value: 5 },
    { text: "1_000_000", value: 1_000_000 },
    { text: "0x_ff", value: 255 },
    { text: "0_17", value: 15 },
    { text: "9007199254740991", value: 9_007_199_254_740_991 },
  ])("parseInteger() gives $value when it gets $text", ({ text, value }) => {
    expect(parseInteger(text)).toBe(value);
  });

  it.each([
    "",
    " ",
    "1.0",
    "1e3",
    "08",
    "0x",
    "0xg",
    "12a",
    "abc",
    "_1",
    "1_",
    "1__0",
    "--1",
    "0b2",
    "9007199254740992",
    "1 2",
    "Infinity",
  ])("parseInteger() refuses %j", (text) => {
    expect(parseInteger(text)).toBeUndefined();
  });
});

describe("parseNumber()", () => {
  it.each([
    { text: "0.8", value: 0.8 },
    { text: ".5", value: 0.5 },
    { text: "5.", value: 5 },
    { text: "-1.25", value: -1.25 },
    { text: "1e3", value: 1000 },
    { text: "2.5E-1", value: 0.25 },
  ])("parseNumber() gives $value when it gets $text", ({ text, value }) => {
    expect(parseNumber(text)).toBe(value);
  });

  it.each(["", ".", "NaN", "inf", "Infinity", "1e999", "0x10", "1,5", "1e", "1.2.3"])(
    "parseNumber() refuses %j",
    (text) => {
      expect(parseNumber(text)).toBeUndefined();
    },
  );
});

describe("parseBoolean()", () => {
  it.each(["1", "t", "T", "TRUE", "true", "True"])("parseBoolean() gives true when it gets %s", (text) => {
    expect(parseBoolean(text)).toBe(true);
  });

  it.each(["0", "f", "F", "FALSE", "false", "False"])("parseBoolean() gives false when it gets %s", (text) => {
    expect(parseBoolean(text)).toBe(false);
  });

  it.each(["", "yes", "no", "on", "tRUE", "2", " true"])("parseBoolean() refuses %j", (text) => {
    expect(parseBoolean(text)).toBeUndefined();
  });
});

describe("parseDurationMs()", () => {
  it.each([
    { text: "0", ms: 0 },
    { text: "0s", ms: 0 },
    { text: "10s", ms: 10_000 },
    { text: "1h30m", ms: 5_400_000 },
    { text: "1.5s", ms: 1500 },
    { text: ".5s", ms: 500 },
    { text: "1.s", ms: 1000 },
    { text: "500ms", ms: 500 },
    { text: "150us", ms: 0.15 },
    { text: "150\u00b5s", ms: 0.15 },
    { text: "150\u03bcs", ms: 0.15 },
    { text: "5ns", ms: 0.000005 },
    { text: "1s200ms", ms: 1200 },
    { text: "0.1s0.2s", ms: 300 },
    { text: "24h", ms: 86_400_000 },
  ])("parseDurationMs() gives $ms when it gets $text", ({ text, ms }) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each(["", "10", "s", "10 s", "-5s", "+5s", "1d", "10S", "1h30", "1.2.3s", ".s", "1e3s"])(
    "parseDurationMs() refuses %j",
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );
});

describe("parseDurationMs() with days", () => {
  it.each([
    { text: "7d", ms: 604_800_000 },
    { text: "1.5d", ms: 129_600_000 },
    { text: "1d12h", ms: 129_600_000 },
    { text: "10s", ms: 10_000 },
    { text: "0", ms: 0 },
  ])("parseDurationMs() gives $ms when it gets $text", ({ text, ms }) => {
    expect(parseDurationMs(text, { hasDays: true })).toBe(ms);
  });

  it.each(["d", "7D", "7 d", "7days", "1w"])("parseDurationMs() refuses %j", (text) => {
    expect(parseDurationMs(text, { hasDays: true })).toBeUndefined();
  });
});

describe("formatDurationMs()", () => {
  it.each([
    { ms: 0, text: "0ms" },
    { ms: 0.5, text: "0.5ms" },
    { ms: 250, text: "250ms" },
    { ms: 1500, text: "1500ms" },
    { ms: 90_000, text: "90s" },
    { ms: 300_000, text: "5m" },
    { ms: 86_400_000, text: "24h" },
  ])("formatDurationMs() gives $text when it gets $ms", ({ ms, text }) => {
    expect(formatDurationMs(ms)).toBe(text);
  });
});

describe("parseSizeBytes()", () => {
  it.each([
    { text: "0", bytes: 0 },
    { text: "65536", bytes: 65_536 },
    { text: "512KiB", bytes: 524_288 },
    { text: "4MiB", bytes: 4_194_304 },
    { text: "1 GiB", bytes: 1_073_741_824 },
    { text: "10kB", bytes: 10_000 },
    { text: "2mb", bytes: 2_000_000 },
    { text: "7B", bytes: 7 },
  ])("parseSizeBytes() gives $bytes when it gets $text", ({ text, bytes }) => {
    expect(parseSizeBytes(text)).toBe(bytes);
  });

  it.each(["", "-1", "1.5MiB", "MiB", "4M", "4XiB", "99999999GiB"])("parseSizeBytes() refuses %j", (text) => {
    expect(parseSizeBytes(text)).toBeUndefined();
  });
});
