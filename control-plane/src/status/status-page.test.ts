// Tests of status-page.ts: the page for states of every kind, and that nothing from outside becomes HTML.
import { describe, expect, it } from "vitest";

import { manifest } from "../assemble/manifests.suite.ts";
import { AT, AT_MS, podOf, publisherOf, reportOf } from "../report/rollout-facts.suite.ts";
import type { RolloutReport } from "../report/rollout-report.ts";
import { renderStatusPage } from "./status-page.ts";

const VERSION = "1d9ef20497bdfd4488ec6996dfbaa672";
const ONE = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });
const EVENT = { version: VERSION, atMs: AT_MS };

describe("renderStatusPage()", () => {
  it("shows versions, refusals with their place, and pods with their state", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta", unit: "fortnight" }),
    });
    const page = renderStatusPage(
      reportOf(publisher, [podOf({ accepted: EVENT, rejected: { ...EVENT, version: "bad", message: "default/a: no" } })]),
    );
    for (const text of [
      `<code title="${VERSION}">1d9ef20497bd</code>`,
      "<code>b.yaml:10:15</code>",
      "<code>spec.descriptors[0].rateLimit.unit</code>",
      "&#34;fortnight&#34;",
      "<pre>default/a: no</pre>",
      "1 of 1 current",
      "2026-01-31 12:00:00 UTC",
      "Resources (2)",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toMatch(/<script|undefined|\[object|,<tr>/);
  });

  it("escapes everything that comes from outside", () => {
    const evil = `"><script>alert('x')</script>&`;
    const hostile = podOf({
      nodeId: evil,
      pod: evil,
      namespace: evil,
      fleet: evil,
      peer: evil,
      rejected: { ...EVENT, message: evil, version: evil },
    });
    const report = { ...reportOf(ONE, [hostile]), replica: evil, source: { location: evil, error: evil, syncedAt: AT } };
    const everywhere: RolloutReport = {
      ...report,
      fleets: report.fleets.map((fleet) => ({ ...fleet, fleet: evil, version: evil })),
      resources: report.resources.map((resource) => ({ ...resource, resource: evil, domain: evil, fleets: [evil], file: evil })),
      refusals: [{ reason: evil, resource: evil, file: evil, line: 1, column: 1, field: evil, message: evil, keepsLastGood: true }],
    };
    const page = renderStatusPage(everywhere);
    expect(page).not.toContain("<script");
    expect(page).not.toContain("alert('x')");
    expect(page).toContain("&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;");
  });

  it("says in words when there is nothing to show", () => {
    const page = renderStatusPage(reportOf(publisherOf({})));
    expect(page).toContain("No rate limit pod is connected to this replica.");
    expect(page).toContain("No resource is served.");
  });

  it("shows the filter it was asked for, keeps it in its links, and stands still when asked to", () => {
    const view = { filter: { fleet: "a&b", namespace: undefined, name: undefined }, isRefreshing: false };
    const page = renderStatusPage(reportOf(ONE, [], { fleet: "a&b" }), view);
    for (const text of [
      '<input name="fleet" value="a&#38;b">',
      '<input type="hidden" name="refresh" value="off">',
      '<a href="/status">Show all</a>',
      'href="/status?fleet=a%26b&#38;format=json"',
      "This page stands still",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('http-equiv="refresh"');
    expect(renderStatusPage(reportOf(ONE))).toContain('<meta http-equiv="refresh" content="5">');
  });

  it("puts first what needs somebody, with numbers at the top", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta" }),
      "c.yaml": manifest({ name: "c", domain: "beta" }),
    });
    const rejected = { fleet: "", resource: "default/b", sinceMs: AT_MS, message: "no <b>", serves: "nothing" as const, rejectingPods: 1 };
    const page = renderStatusPage(reportOf({ ...publisher, rejections: { resources: [rejected], versions: [] } }, [podOf({})]));
    for (const text of [
      "1 of 3 resources served",
      "1 refused",
      "1 quarantined",
      "0 of 1 pods current",
      "Rejected by pods (1)",
      "no &#60;b&#62;",
    ]) {
      expect(page).toContain(text);
    }
    const order = [...page.matchAll(/<td><a href="[^"]*">([^<]+)<\/a>/g)].map(([, name]) => name);
    expect(order).toEqual(["default/b", "default/c", "default/a"]);
  });

  it("shows a thousand rows at most, and says how many there are more", () => {
    const pods = Array.from({ length: 1200 }, (_, index) => podOf({ nodeId: `node-${index}`, pod: "" }));
    const page = renderStatusPage(reportOf(ONE, pods));
    expect(page.match(/node-\d+/g)).toHaveLength(1000);
    expect(page).toContain("And 200 more; narrow them down above.");
  });
});
