// The settings table as people read it in a terminal.
import { describe, expect, it } from "vitest";

import { formatSettings, wrapText } from "./settings-table.ts";

describe("wrapText()", () => {
  it.each([
    { text: "one two three", width: 8, lines: ["one two", "three"] },
    { text: "one two", width: 7, lines: ["one two"] },
    { text: "a-very-long-word b", width: 5, lines: ["a-very-long-word", "b"] },
    { text: "  spaced \n out ", width: 80, lines: ["spaced out"] },
    { text: "", width: 80, lines: [] },
  ])("wrapText() gives $lines when it wraps $text at $width", ({ text, width, lines }) => {
    expect(wrapText(text, width)).toEqual(lines);
  });
});

describe("formatSettings()", () => {
  it("formatSettings() prints name, type, default, effect and aliases when it gets rows", () => {
    const rows = [
      { names: ["KVSTORE_URL", "REDIS_URL"], type: "text", default: "", effect: "Address of the primary store." },
      { names: ["GRPC_PORT"], type: "port", default: "8081", effect: "Port of the gRPC listener." },
    ];
    expect(formatSettings(rows, 40)).toBe(
      [
        "  KVSTORE_URL  (text; default not set)",
        "      Address of the primary store. Also",
        "      named REDIS_URL.",
        "  GRPC_PORT  (port; default 8081)",
        "      Port of the gRPC listener.",
        "",
      ].join("\n"),
    );
  });
});
