// The stored form of keys: different texts never have the same.
import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { StoredKey } from "./stored-key.ts";

const SEED = { low: 1, high: 2 };

/** The words of a key as text. */
function form(text: string, key = new StoredKey(SEED)): string {
  key.set(text);
  return key.words.slice(0, key.length).join();
}

describe("StoredKey", () => {
  it("gives each text a form of its own", () => {
    const long = "x".repeat(300);
    const digest = hash("sha256", Buffer.from(long, "utf16le"), "base64url");
    const texts = [
      "",
      ...["a", "ab", "abc", "abcd", "abcde"],
      ...["a\u0000", "a\u0000\u0000", "\u0000a"],
      ...["ä", "a\u0308", "\u00c3\u00a4", "e\u0000", "敥"],
      // In UTF-8 each of these would be U+FFFD.
      ...["\ud800", "\ud801", "\udc00", "\ufffd"],
      ...["x".repeat(255), "x".repeat(256), "x".repeat(257), "ä".repeat(256), "敥".repeat(256), "敥".repeat(257)],
      ...[long, digest, `${"x".repeat(299)}\ud800`, `${"x".repeat(299)}\ud801`],
    ];
    expect(new Set(texts.map((text) => form(text))).size).toBe(texts.length);
  });

  it("gives the same form and hash regardless of the key before", () => {
    const [used, fresh] = [new StoredKey(SEED), new StoredKey(SEED)];
    for (const before of ["敥".repeat(256), "z".repeat(256), "x".repeat(1000)]) {
      for (const text of ["", "a", "ab", "abc", "abcd", "ä", "敥x"]) {
        used.set(before);
        expect(form(text, used)).toBe(form(text, fresh));
        expect(used.hash).toBe(fresh.hash);
      }
    }
  });
});
