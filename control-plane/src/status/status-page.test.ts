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
      "Resources (1)",
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
});
