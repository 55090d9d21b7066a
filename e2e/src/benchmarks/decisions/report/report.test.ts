// Tables, the picture, and the parts of the documentation that are made of results.
import { describe, expect, it } from "vitest";
import { documentResults } from "./report-docs.ts";
import { formatBars, formatResults } from "./report-tables.ts";
import type { Contender } from "../loads.ts";
import { results, row } from "./results.suite.ts";

const GO = "envoyproxy/ratelimit";
const RUN = results(
  row("redis/8x64", "weir", {
    perSecond: 200_000,
    cpuMicrosPerDecision: 4,
    p99Micros: 3500,
    commandsPerDecision: 2,
    storeCpuMicrosPerDecision: 1.5,
  }),
  row("redis/8x64", GO, { perSecond: 12_500, cpuMicrosPerDecision: 75, p99Micros: 90_000 }),
  row("redis/8x64", "nothing", { perSecond: 900_000 }),
  row("memory/16x1", "weir", { perSecond: 90_000 }),
  row("memory/16x1", "nothing", { perSecond: 100_000 }),
);

describe("formatResults()", () => {
  it("has a line per row, with the reason where the generator is the limit", () => {
    const cells = formatResults(RUN)
      .split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()));
    const weir = ["200.0 k (200.0–200.0)", "4.0 (4.0–4.0)", "0.10", "3.50", "2.00", "100", "2.00", "1.5 (1.5–1.5)"];
    expect(cells[2]).toEqual(["", "group redis", "load 8x64", "Weir", ...weir, ""]);
    expect(cells[3]?.slice(3, 8)).toEqual([GO, "12.5 k (12.5–12.5)", "75.0 (75.0–75.0)", "0.10", "90"]);
    expect(cells[5]?.slice(3, 8)).toEqual(["Weir", "not measurable here", "10.0 (10.0–10.0)", "", ""]);
    expect(cells).toHaveLength(7);
  });
});

describe("formatResults() of turns", () => {
  it("has the columns where they were measured", () => {
    const [head = "", , line = ""] = formatResults(
      results(row("rules/open-2k", "weir", { turnCpuMicros: 2500, turnWallMicros: 12_000 })),
    ).split("\n");
    expect(head).toMatch(/\| RSS MB \| Longest turn, CPU ms \| the same, wall ms \|$/);
    expect(line).toMatch(/\| 100 +\| 2\.5 \(2\.5–2\.5\) +\| 12 +\|$/);
  });
});

describe("formatBars()", () => {
  it("has the bar, the value and the verdict", () => {
    const [, , first] = formatBars(RUN).split("\n");
    const cells = ["", "Redis, 100,000 keys, 8 × 64", `≥ 15 × ${GO}`, "16.00 (16.00–16.00)", "PASS", ""];
    expect(first?.split("|").map((cell) => cell.trim())).toEqual(cells);
  });
});

describe("documentResults()", () => {
  it("says the figure that matters in one sentence, with the commit in the picture", () => {
    const { readme, page, plot } = documentResults(RUN);
    const sentence =
      "On one core, over the same Redis and with 100,000 keys, Weir decides 200,000 requests a second and " +
      `${GO} 13,000: **16.0 times as many**; a decision costs 4.0 µs of processor time, and 75 µs there.`;
    expect(readme["speed"]).toContain(sentence);
    expect(page["summary"]).toContain(sentence);
    expect(page["results"]).toContain("2026-11-22, commit abc1234; 3 rounds.");
    expect(page["settings"]).toBe("- redis, weir: `BACKEND_TYPE=redis`");
    expect(plot).toContain("Commit abc1234, 2026-11-22; 2 × CPU");
  });

  it("says what is left of it when each connection has one call", () => {
    const speeds = { weir: 20_000, [GO]: 5000, nothing: 90_000 };
    const alone = Object.entries(speeds).map(([name, perSecond]) =>
      row("redis/16x1", name as Contender, { perSecond }),
    );
    const { readme } = documentResults(results(...RUN.rows.slice(0, 3), ...alone));
    expect(readme["speed"]).toContain("With one call at a time on each of 16 connections it is 4.0 times as many.");
  });

  it("draws bars as long as their values, and says how they compare", () => {
    const { plot } = documentResults(RUN);
    const widths = [...plot.matchAll(/<rect class="(weir|other)" x="300" y="\d+" width="([\d.]+)"/g)];
    expect(widths.map(([, kind, width]) => [kind, Number(width)])).toEqual([
      ["weir", 540],
      ["other", 33.8],
    ]);
    expect(plot).toContain('200 k <tspan class="ratio">16 ×</tspan>');
    expect(plot).toContain("busy proxies, 100,000 keys: Weir 200 k, envoyproxy/ratelimit 12.5 k.");
  });

  it("compares no times that the generator is too slow for", () => {
    const open = (p99Micros: number) =>
      ["weir", GO].map((name) => row("redis/open-5k", name as Contender, { p99Micros }));
    const run = (ceilingMicros: number) =>
      documentResults(results(...open(4000), row("redis/open-5k", "nothing", { p99Micros: ceilingMicros }))).plot;
    expect(run(1000)).toContain('4.00 ms <tspan class="ratio">1.0 × shorter</tspan>');
    expect(run(1001)).toContain('4.00 ms <tspan class="ratio">not measurable here</tspan>');
  });

  it("compares costs instead when the generator is the limit", () => {
    const run = results(...RUN.rows.slice(0, 2), row("redis/8x64", "nothing", { perSecond: 250_000 }));
    const { readme, plot } = documentResults(run);
    expect(readme["speed"]).toContain("a decision costs 4.0 µs of processor time, and 75 µs there.");
    expect(plot).toContain('200 k <tspan class="ratio">not measurable here</tspan>');
  });
});
