// The help as a person reads it.
import { describe, expect, it } from "vitest";

import { formatHelp } from "./help.ts";

describe("formatHelp()", () => {
  it("formatHelp() prints summary, usage, flags and settings when a program has them all", () => {
    const help = formatHelp(
      {
        name: "weir-client",
        version: "0.1.0",
        summary: "Asks a rate limit service whether requests are over limit.",
        usage: "-domain NAME -descriptors KEY=VALUE,…",
        flags: [{ flag: "-domain NAME", effect: "Domain of the request." }],
        settings: [
          {
            names: ["LOG_LEVEL"],
            type: "debug | info",
            default: "info",
            effect: "Least important lines that are logged.",
          },
          { names: ["KVSTORE_URL", "REDIS_URL"], type: "text", default: "", effect: "Address of the primary store." },
        ],
      },
      50,
    );
    expect(help).toBe(
      [
        "weir-client 0.1.0",
        "Asks a rate limit service whether requests are",
        "over limit.",
        "",
        "Usage: weir-client -domain NAME -descriptors KEY=VALUE,…",
        "",
        "  -domain NAME",
        "      Domain of the request.",
        "  --help",
        "      Shows this.",
        "  --version",
        "      Shows the version.",
        "",
        "Settings (environment variables):",
        "",
        "  LOG_LEVEL  (debug | info; default info)",
        "      Least important lines that are logged.",
        "  KVSTORE_URL  (text; default not set)",
        "      Address of the primary store. Also named",
        "      REDIS_URL.",
        "",
      ].join("\n"),
    );
  });

  it.each([
    {
      what: "breaks at a space",
      summary: `${"x".repeat(30)} ${"y".repeat(10)}`,
      lines: ["x".repeat(30), "y".repeat(10)],
    },
    {
      what: "fills a line",
      summary: `${"x".repeat(30)} ${"y".repeat(9)}`,
      lines: [`${"x".repeat(30)} ${"y".repeat(9)}`],
    },
    { what: "gives a longer word its own line", summary: `${"x".repeat(50)} b`, lines: ["x".repeat(50), "b"] },
    { what: "joins lines", summary: "  spaced \n out ", lines: ["spaced out"] },
  ])("formatHelp() $what when it wraps text", ({ summary, lines }) => {
    const help = formatHelp({ name: "p", version: "1", summary, settings: [] }, 40);
    expect(help).toContain(`p 1\n${lines.join("\n")}\n\nUsage`);
  });

  it.each([
    { columns: 10, widest: 40 },
    { columns: 80, widest: 80 },
    { columns: 500, widest: 100 },
  ])("formatHelp() keeps text within $widest columns when the terminal has $columns", ({ columns, widest }) => {
    const help = formatHelp({ name: "p", version: "1", summary: "word ".repeat(100), settings: [] }, columns);
    const lengths = help.split("\n").map((line) => line.length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(widest);
    expect(Math.max(...lengths)).toBeGreaterThan(widest - "word ".length - 1);
  });
});
