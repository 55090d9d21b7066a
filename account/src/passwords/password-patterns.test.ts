import { describe, expect, it } from "vitest";
import { isPattern } from "./password-patterns.ts";

describe("isPattern()", () => {
  it.each([
    "aaaaaaaa",
    "11111111111",
    "😀😀😀😀😀😀😀😀",
    "abababab",
    "121212121",
    "xyzxyzxyz",
    "12345678",
    "1234567890",
    "0987654321",
    "abcdefgh",
    "hgfedcba",
    "абвгдежз",
    "1234abcd",
    "abcd1234",
    "aaaabbbb",
    "aaa111zzz",
    "123321123",
    "qwertyuiop",
    "poiuytrewq",
    "asdfghjkl",
    "qwerasdf",
    "qwe123asd",
  ])("finds %j", (password) => {
    expect(isPattern(password)).toBe(true);
  });

  it.each([
    "abcd12xy",
    "abcabcab1",
    "qwerty7!",
    "correct horse",
    "aabbaabb",
    "mississippi",
    "19841984",
    "passpass",
    "tr0ub4dor",
    "abcdefgx",
    "a\u0000bcdefgh",
  ])("leaves %j to the lists", (password) => {
    expect(isPattern(password)).toBe(false);
  });
});
