import { describe, expect, it } from "vitest";

import { formatScalar, resolveScalar, type ScalarMeaning } from "./scalar.ts";

const int = (value: bigint): ScalarMeaning => ({ type: "int", value });
const float = (value: number): ScalarMeaning => ({ type: "float", value });
const str = (value: string): ScalarMeaning => ({ type: "str", value });
const bool = (value: boolean): ScalarMeaning => ({ type: "bool", value });

describe("resolveScalar", () => {
  it.each<[string, ScalarMeaning]>([
    ["", { type: "null" }],
    ["~", { type: "null" }],
    ["null", { type: "null" }],
    ["NULL", { type: "null" }],
    ["nULL", str("nULL")],
    ["yes", bool(true)],
    ["y", bool(true)],
    ["on", bool(true)],
    ["True", bool(true)],
    ["n", bool(false)],
    ["No", bool(false)],
    ["OFF", bool(false)],
    ["tRUE", str("tRUE")],
    ["0", int(0n)],
    ["-0", int(0n)],
    ["12", int(12n)],
    ["+12", int(12n)],
    ["-12", int(-12n)],
    ["1_000", int(1000n)],
    ["0x1F", int(31n)],
    ["0b101", int(5n)],
    ["017", int(15n)], // Octal, as in YAML 1.1.
    ["0o17", int(15n)],
    ["08", float(8)], // No octal number, so yaml.v2 tries floats next.
    ["9223372036854775807", int(9223372036854775807n)],
    ["18446744073709551615", int(18446744073709551615n)],
    ["18446744073709551616", float(18446744073709551616)],
    ["1.5", float(1.5)],
    ["1.", float(1)],
    [".5", float(0.5)],
    ["-.5", float(-0.5)],
    [".5_0", float(0.5)],
    ["1e3", float(1000)],
    ["1e999", str("1e999")],
    [".inf", float(Number.POSITIVE_INFINITY)],
    ["-.Inf", float(Number.NEGATIVE_INFINITY)],
    [".nan", float(Number.NaN)],
    ["2001-01-01", str("2001-01-01")],
    ["12:30:45", str("12:30:45")],
    ["1.2.3.4", str("1.2.3.4")],
    ["foo", str("foo")],
  ])("resolveScalar() reads the plain text %j as yaml.v2 does", (text, expected) => {
    expect(resolveScalar(text, { isPlain: true, tag: undefined })).toEqual(expected);
  });

  it("resolveScalar() reads quoted text as text when it looks like a number", () => {
    expect(resolveScalar("12", { isPlain: false, tag: undefined })).toEqual(str("12"));
  });

  it.each<[string, string, ScalarMeaning | string]>([
    ["12", "str", str("12")],
    ["12", "float", float(12)],
    ["12", "int", int(12n)],
    ["yes", "bool", bool(true)],
    ["aGVsbG8=", "binary", str("hello")],
    ["x", "int", "cannot decode !!str `x` as a !!int"],
    ["1.5", "int", "cannot decode !!float `1.5` as a !!int"],
    ["*", "binary", "!!binary value contains invalid base64 data"],
  ])("resolveScalar() reads %j with the tag !!%s", (text, tag, expected) => {
    expect(resolveScalar(text, { isPlain: false, tag: `tag:yaml.org,2002:${tag}` })).toEqual(expected);
  });

  it("resolveScalar() reads text when the tag is one that only its author knows", () => {
    expect(resolveScalar("12", { isPlain: true, tag: "!mine" })).toEqual(str("12"));
  });
});

describe("formatScalar", () => {
  it.each<[ScalarMeaning, string]>([
    [{ type: "null" }, "<nil>"],
    [bool(true), "true"],
    [int(-7n), "-7"],
    [float(0.25), "0.25"],
    [float(100_000), "100000"],
    [float(1_000_000), "1e+06"],
    [float(1_234_567), "1.234567e+06"],
    [float(0.0001), "0.0001"],
    [float(0.00001), "1e-05"],
    [float(Number.NaN), "NaN"],
    [float(Number.POSITIVE_INFINITY), "+Inf"],
    [float(Number.NEGATIVE_INFINITY), "-Inf"],
    [str("a"), "a"],
  ])("formatScalar() prints as Go does (case %#)", (meaning, expected) => {
    expect(formatScalar(meaning)).toBe(expected);
  });
});
