// Which texts are counts: the ones that INCRBY takes for a number.
import { describe, expect, it } from "vitest";
import { countIn } from "./stored-count.ts";

describe("countIn()", () => {
  it.each([
    { reply: null, count: 0 },
    { reply: "0", count: 0 },
    { reply: "7", count: 7 },
    { reply: "-3", count: -3 },
    { reply: "4294967296", count: 4_294_967_296 },
    { reply: "9007199254740991", count: 9_007_199_254_740_991 },
    { reply: "9223372036854775807", count: 2 ** 63 },
    { reply: "-9223372036854775808", count: -(2 ** 63) },
  ])("countIn() gives $count when the reply is $reply", ({ reply, count }) => {
    expect(countIn(reply)).toBe(count);
  });

  it.each([
    "",
    "abc",
    "1.5",
    "1e3",
    " 1",
    "1 ",
    "+1",
    "01",
    "-0",
    "-",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999",
  ])("countIn() gives the error of INCRBY when the reply is '%s'", (reply) => {
    expect(countIn(reply)).toEqual(new Error("ERR value is not an integer or out of range"));
  });

  it("countIn() gives an error when the reply is no text", () => {
    expect(countIn(["1"])).toEqual(new Error("unexpected reply to GET"));
  });
});
