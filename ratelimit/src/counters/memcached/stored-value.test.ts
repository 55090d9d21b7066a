// Keys that memcached takes and those it does not, numbers in values, and both kinds of expiry.
import { describe, expect, it } from "vitest";
import { expiryNumber, findKeyProblem, parseCount } from "./stored-value.ts";

describe("findKeyProblem()", () => {
  it.each(["a", "domain_key_value_4000000200", "x".repeat(250), "ü".repeat(125), "😀".repeat(62), "!~", "\u0080"])(
    "findKeyProblem() finds none in '%s'",
    (key) => {
      expect(findKeyProblem(key)).toBeUndefined();
    },
  );

  it.each([
    { name: "a space", key: "a b", problem: "must hold no space and no control character" },
    { name: "a line break", key: "a\r\nflush_all\r\n", problem: "must hold no space and no control character" },
    { name: "a zero", key: "a\0", problem: "must hold no space and no control character" },
    { name: "DEL", key: "a\u007f", problem: "must hold no space and no control character" },
    { name: "251 bytes", key: "x".repeat(251), problem: "is longer than 250 bytes, it has 251" },
    { name: "126 letters of two bytes", key: "ü".repeat(126), problem: "is longer than 250 bytes, it has 252" },
    { name: "84 letters of three bytes", key: "€".repeat(84), problem: "is longer than 250 bytes, it has 252" },
    { name: "half a surrogate pair", key: "a\ud83d", problem: "must be well-formed text" },
  ])("case 143: findKeyProblem() says '$problem' when the key has $name", ({ key, problem }) => {
    expect(findKeyProblem(key)).toBe(problem);
  });
});

describe("parseCount()", () => {
  it.each([
    { data: "0", count: 0 },
    { data: "12", count: 12 },
    { data: "9  ", count: 9 },
    { data: "2147483648", count: 2_147_483_648 },
    { data: "18446744073709551615", count: 9_007_199_254_740_991 },
  ])("parseCount() reads $count from '$data'", ({ data, count }) => {
    expect(parseCount(data)).toBe(count);
  });

  it.each(["abc", "", " 1", "-1", "1.5", "1e3", "0x1", "1 2", "123456789012345678901"])(
    "case 143: parseCount() reads nothing from '%s'",
    (data) => {
      expect(parseCount(data)).toBeUndefined();
    },
  );
});

describe("expiryNumber()", () => {
  it.each([
    { ttlSeconds: 60, expiry: 60 },
    { ttlSeconds: 2_592_000, expiry: 2_592_000 },
    { ttlSeconds: 2_592_001, expiry: 1_702_592_001 },
    { ttlSeconds: 31_536_000, expiry: 1_731_536_000 },
  ])("expiryNumber() is $expiry when a key lives for $ttlSeconds s", ({ ttlSeconds, expiry }) => {
    expect(expiryNumber(ttlSeconds, 1_700_000_000_999)).toBe(expiry);
  });
});
