// Tests of what plain scalars mean. The expected values are what kubectl's YAML reader
// (sigs.k8s.io/yaml) gives for the same text.
import { describe, expect, it } from "vitest";

import { resolveScalar } from "./scalar.ts";

/** The meaning of a plain scalar as a JSON value. */
function resolvePlainScalar(text: string): unknown {
  const meaning = resolveScalar(text, { isPlain: true, tag: undefined });
  if (typeof meaning === "string") return meaning;
  if (meaning.type === "null") return null;
  return meaning.type === "int" ? Number(meaning.value) : meaning.value;
}

describe("resolveScalar()", () => {
  it.each(["", "~", "null", "Null", "NULL"])("takes %j for null", (text) => {
    expect(resolvePlainScalar(text)).toBeNull();
  });

  it.each(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])("takes %j for true", (text) => {
    expect(resolvePlainScalar(text)).toBe(true);
  });

  it.each(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])(
    "takes %j for false",
    (text) => {
      expect(resolvePlainScalar(text)).toBe(false);
    },
  );

  it.each([
    ["0", 0],
    ["+5", 5],
    ["-0", 0],
    ["-0.0", -0],
    ["1_000", 1000],
    ["1__2", 12],
    ["017", 15],
    ["-017", -15],
    ["0o17", 15],
    ["0O7", 7],
    ["08", 8],
    ["09.5", 9.5],
    ["0x1F", 31],
    ["-0x1f", -31],
    ["0b101", 5],
    ["-0b11", -3],
    ["1.", 1],
    ["1.5", 1.5],
    ["-.5", -0.5],
    [".5e3", 500],
    ["1e3", 1000],
    ["-1.e3", -1000],
    ["4294967295", 4_294_967_295],
    [".inf", Infinity],
    ["-.INF", -Infinity],
  ])("takes %j for the number %d", (text, number) => {
    expect(resolvePlainScalar(text)).toBe(number);
  });

  it.each([
    "yEs",
    "tRUE",
    "nULL",
    "12:30:45",
    "2001-01-01",
    "0x",
    "0b2",
    "0o8",
    "1e",
    "1e999",
    "-",
    "+",
    ".",
    "..5",
    "Inf",
    "NaN",
    "a1",
    "1 2",
    "=",
    "_1",
  ])("leaves %j text", (text) => {
    expect(resolvePlainScalar(text)).toBe(text);
  });
});
