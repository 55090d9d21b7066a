// Checks /metrics of a service by the rules of promtool and by the page that describes it.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { startService } from "../running-service.suite.ts";

const PAGE = readFileSync(new URL("../../../docs/account.md", import.meta.url), "utf8");

/** A metric in code font, with or without a label, or a row of the table of results. */
const METRIC = /`([a-z]+(?:_[a-z]+)*_(?:total|seconds|depth|bytes|connections|waiting))(?:\{([^`]*)\})?`/g;
const RESULT_ROW = /^\| Result +\|.*\n.*\n(?:\|.*\n)+/m;

it("is what promtool approves of, and has each metric and result that docs/account.md names, and no other result", async () => {
  const service = await startService();
  const text = await (await fetch(`${service.metricsUrl}/metrics`)).text();
  await service.stop();
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  expect([stdout, stderr, status]).toEqual(["", "", 0]);

  for (const [, name = "", label = ""] of PAGE.matchAll(METRIC)) {
    expect(text).toContain(`# TYPE ${name} `);
    expect(text).toMatch(new RegExp(`^${name}.*${label}`, "m"));
  }
  const documented = [
    ...(RESULT_ROW.exec(PAGE)?.[0] ?? "").matchAll(/^\| (`.*?) +\|/gm),
    ...PAGE.matchAll(/^`refresh_total` counts results: (.*)$/gm),
  ].flatMap(([, cell = ""]) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, result]) => result));
  const shown = text.matchAll(/^(?:login|refresh|registrations)_total\{result="(\w+)"\}/gm);
  expect(new Set(documented)).toEqual(new Set([...shown].map(([, result]) => result)));
});

it("counts the calls of the user store, and has every reason of a failure from the start", async () => {
  const service = await startService();
  const scrape = async (): Promise<string> => (await fetch(`${service.metricsUrl}/metrics`)).text();
  const before = await scrape();
  for (const line of [
    'store_seconds_count{operation="insert"} 0',
    'store_errors_total{reason="no_answer"} 0',
    'store_errors_total{reason="index_missing"} 0',
    "store_breaker_open 0",
    "store_breaker_openings_total 0",
  ])
    expect(before).toContain(`${line}\n`);
  await service.register();
  expect(await scrape()).toContain('store_seconds_count{operation="insert"} 1\n');
  await service.stop();
});
