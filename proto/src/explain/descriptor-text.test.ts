import { describe, expect, it } from "vitest";

import { parseDescriptor } from "./descriptor-text.ts";

describe("parseDescriptor()", () => {
  it.each([
    { text: "k=v", entries: [["k", "v"]] },
    { text: "k=", entries: [["k", ""]] },
    { text: "path=/a?b=c", entries: [["path", "/a?b=c"]] },
    { text: "a=1\\,2,b=3", entries: [["a", "1,2"], ["b", "3"]] }, // prettier-ignore
    { text: "a\\=b=c", entries: [["a=b", "c"]] },
    { text: "a=\\\\", entries: [["a", "\\"]] },
  ])("reads $text", ({ text, entries }) => {
    expect(parseDescriptor(text)).toEqual(entries.map(([key, value]) => ({ key, value })));
  });
});
