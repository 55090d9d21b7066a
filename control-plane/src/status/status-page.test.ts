// Tests of status-page.ts: the page for states of every kind, and that nothing from outside becomes
// HTML.
import { describe, expect, it } from "vitest";

import { manifest } from "../translate/manifests.suite.ts";
import {
  AT,
  AT_MS,
  podOf,
  podThatAcked,
  podThatNacked,
  podThatNackedAll,
  publisherOf,
  reportOf,
  snapshotIn,
} from "../report/rollout/rollout-facts.suite.ts";
import type { RolloutReport } from "../report/rollout/rollout-report.ts";
import { renderStatusPage } from "./status-page.ts";

const VERSION = "974030ee43ece499b7070d448d1e0586";
const ONE = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });
const EVENT = { version: VERSION, atMs: AT_MS };

/**
 * What a reader sees: a line for each heading, paragraph, badge of the summary and row; the cells
 * of a row apart, and the tone of each badge.
 */
function wordsOf(page: string): readonly string[] {
  const body = /<body>(.*)<footer>/s.exec(page)?.[1] ?? "";
  return body
    .replace(/<revision.*<\/revision>/s, "")
    .replace(/<span class="badge (\w+)">/g, (_, tone: string) => `<span>[${tone}] `)
    .replace(/<\/t[dh]>\s*<t[dh][^>]*>/g, " | ")
    .replace(/<br>/g, " / ")
    .replace(/<pre>/g, " ")
    .replace(/<\/?(h\d|p|tr|section|table|thead|tbody)\b[^>]*>/g, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim())
    .filter((line) => line !== "");
}

describe("renderStatusPage()", () => {
  it("shows versions, refusals with their place, and pods with their state", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta", unit: "fortnight" }),
    });
    const page = renderStatusPage(
      reportOf(publisher, [
        podThatAcked(snapshotIn(publisher), { rejected: { ...EVENT, version: "bad", message: "default/a: no" } }),
      ]),
    );
    for (const text of [
      `<code title="${VERSION}">974030ee43ec</code>`,
      "<code>b.yaml:10:15</code>",
      "<code>spec.descriptors[0].rateLimit.unit</code>",
      "&#34;fortnight&#34;",
      "<pre>default/a: no</pre>",
      "0 of 1 current",
      "2026-01-31 12:00:00 UTC",
      "Resources (2)",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toMatch(/<script|undefined|\[object|,<tr>/);
  });

  it("says the whole of a state in which all is well", () => {
    const report = reportOf(ONE, [
      podThatAcked(snapshotIn(ONE)),
      podThatAcked(snapshotIn(ONE), { nodeId: "", pod: "", namespace: "" }),
    ]);
    expect(wordsOf(renderStatusPage(report))).toEqual([
      "Weir control plane [good] ready",
      "Replica replica-1, reading limits, synchronised at 2026-01-31 12:00:00 UTC",
      "[good] 1 of 1 resources served",
      "[good] 2 of 2 pods current",
      "Everything is shown. Narrow down",
      "Snapshots",
      "Fleet | Version | Resources | Bytes | Published | Pods",
      "every | 974030ee43ec | 1 | 204 | 2026-01-31 12:00:00 UTC | [good] 2 of 2 current",
      "Pods (2)",
      "Pod | Fleet | Address | State | Accepted | Rejected",
      "pod-7 / gateway/pod-7 / namespace edge | gateway | 192.0.2.1:4711 / since 2026-01-31 12:00:00 UTC | [good] current | 974030ee43ec / 2026-01-31 12:00:00 UTC | none",
      "(no node id) | gateway | 192.0.2.1:4711 / since 2026-01-31 12:00:00 UTC | [good] current | 974030ee43ec / 2026-01-31 12:00:00 UTC | none",
      "Resources (1)",
      "Resource | Domain | Fleets | State | Pods | Where",
      "default/a | alpha | every | [good] served | [good] 2 of 2 current | a.yaml:1",
    ]);
  });

  it("says the whole of a state in which something of everything is wrong", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha", fleets: ["gold"] }).replace(
        "- key: user",
        "- key: user\n      valueToMetric: true",
      ),
      "b.yaml": manifest({ name: "b", domain: "alpha", fleets: ["gold", "iron"] }),
      "c.yaml": manifest({ name: "c", domain: "gamma" }),
      "d.yaml": "",
    });
    const state = { ...publisher, sourceError: "Cannot read the folder x" };
    const { version } = snapshotIn(publisher);
    const earlier = snapshotIn(publisherOf({ "c.yaml": manifest({ name: "c", domain: "gamma", requestsPerUnit: 1 }) }));
    const pods = [
      podOf({ nodeId: "waits", pod: "" }),
      podThatNackedAll(snapshotIn(publisher), earlier, "out of memory", { nodeId: "rejects", pod: "" }),
    ];
    const report: RolloutReport = { ...reportOf(state, pods), ready: false, notReady: "it is shutting down" };
    const held = {
      ...report,
      fleets: report.fleets.map((fleet) => ({
        ...fleet,
        heldBack: fleet.fleet === "*" ? ("too-large" as const) : ("empty" as const),
      })),
    };
    expect(wordsOf(renderStatusPage(held))).toEqual([
      "Weir control plane [bad] not ready",
      "Replica replica-1, reading limits, synchronised at 2026-01-31 12:00:00 UTC",
      "[warning] 1 of 3 resources served",
      "[bad] 1 refused",
      "[bad] 1 quarantined",
      "[bad] 1 unreadable",
      "[warning] 0 of 2 pods current",
      "Everything is shown. Narrow down",
      "Not ready",
      "it is shutting down",
      "The source cannot be read",
      "Cannot read the folder x",
      "What was read before stays active.",
      "NACKed by pods (1)",
      "Resource | Why | Meanwhile",
      "default/c | pods of fleet * NACKed it, an earlier revision is active there: out of memory | these pods serve an earlier revision",
      "Refused (2)",
      "Where | Field | Why | Meanwhile",
      'b.yaml:6:11 / default/b | spec.domain | [bad] DomainConflict domain "alpha" belongs to default/a (a.yaml:1) in fleet "gold": the oldest resource owns a domain, then the first by namespace and name | not served',
      "d.yaml:1:1 | | [bad] InvalidSpec the file is empty; delete it if there should be nothing | not served",
      "Snapshots",
      "Fleet | Version | Resources | Bytes | Published | Pods",
      `every other | ${version.slice(0, 12)} [bad] some resources do not fit | 1 | 204 | 2026-01-31 12:00:00 UTC | [warning] 0 of 2 current [bad] 1 rejected`,
      `gold | ${snapshotIn(publisher, "gold").version.slice(0, 12)} [warning] no resource is left; published if that lasts | 2 | 310 | 2026-01-31 12:00:00 UTC | none connected`,
      "Pods (2)",
      "Pod | Fleet | Address | State | Accepted | Rejected",
      `rejects / namespace edge | gateway | 192.0.2.1:4711 / since 2026-01-31 12:00:00 UTC | [bad] rejected | ${earlier.version.slice(0, 12)} / 2026-01-31 12:00:00 UTC | ${version.slice(0, 12)} / 2026-01-31 12:00:00 UTC out of memory`,
      "waits / namespace edge | gateway | 192.0.2.1:4711 / since 2026-01-31 12:00:00 UTC | [warning] pending | none | none",
      "Resources (3)",
      "Resource | Domain | Fleets | State | Pods | Where",
      "default/c | gamma | every | [bad] quarantined RejectedByDataPlane | [warning] 0 of 2 current [bad] 1 rejected | c.yaml:1",
      "default/b | alpha | gold, iron | [bad] refused DomainConflict | | b.yaml:1",
      "default/a | alpha | gold | [good] served 2 warnings spec.descriptors[0].valueToMetric: pods of envoyproxy/ratelimit ignore this field no pod of fleet gold is connected to this replica (fleets with pods: gateway) | none connected | a.yaml:1",
    ]);
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
    const report = {
      ...reportOf(ONE, [hostile]),
      replica: evil,
      source: { location: evil, error: evil, syncedAt: AT },
    };
    const everywhere: RolloutReport = {
      ...report,
      fleets: report.fleets.map((fleet) => ({ ...fleet, fleet: evil, version: evil })),
      resources: report.resources.map((resource) => ({
        ...resource,
        resource: evil,
        domain: evil,
        fleets: [evil],
        file: evil,
      })),
      refusals: [
        {
          reason: evil,
          resource: evil,
          file: evil,
          line: 1,
          column: 1,
          field: evil,
          message: evil,
          keepsLastGood: true,
        },
      ],
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
    const filter = { fleet: undefined, namespace: undefined, name: "x" };
    expect(renderStatusPage(reportOf(publisherOf({}), [], filter), { filter, isRefreshing: true })).toContain(
      "No resource matches.",
    );
  });

  it("shows what it is narrowed down to, and has fields only while it stands still: typing would be lost", () => {
    const view = { filter: { fleet: "a&b", namespace: undefined, name: "x" }, isRefreshing: true };
    const page = renderStatusPage(reportOf(ONE, [], view.filter), view);
    expect(wordsOf(page)).toContain("Only fleet a&b name x is shown. Narrow down Show all");
    expect(page).toContain('<a href="/status?fleet=a%26b&#38;name=x&#38;refresh=off">Narrow down</a>');
    expect(page).not.toMatch(/<revision|<input/);
  });

  it("reports each cell its heading, for screens on which a row is a card", () => {
    const page = renderStatusPage(reportOf(ONE));
    expect(page).toContain(
      '<td data-heading="Domain"><div>alpha</div></td><td data-heading="Fleets"><div>every</div></td>',
    );
    expect(page).toContain('<td class="number" data-heading="Bytes">204</td>');
  });

  it("shows the filter it was asked for, keeps it in its links, and stands still when asked to", () => {
    const view = { filter: { fleet: "a&b", namespace: undefined, name: undefined }, isRefreshing: false };
    const page = renderStatusPage(reportOf(ONE, [], { fleet: "a&b" }), view);
    for (const text of [
      '<input name="fleet" value="a&#38;b">',
      '<a href="/status">Show all</a>',
      "This page does not refresh",
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('http-equiv="refresh"');
    expect(renderStatusPage(reportOf(ONE))).toContain('<meta http-equiv="refresh" content="5">');
  });

  it("puts first what needs attention, with numbers at the top", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta" }),
      "c.yaml": manifest({ name: "c", domain: "beta" }),
    });
    const nack = { name: "default/b", revision: undefined, message: "no <b>" };
    const page = renderStatusPage(reportOf(publisher, [podThatNacked(snapshotIn(publisher), [nack])]));
    for (const text of [
      "1 of 3 resources served",
      "1 refused",
      "1 quarantined",
      "0 of 1 pods current",
      "NACKed by pods (1)",
      "no &#60;b&#62;",
    ]) {
      expect(page).toContain(text);
    }
    const order = [...page.matchAll(/<td[^>]*><div><a href="[^"]*">([^<]+)<\/a>/g)].map(([, name]) => name);
    expect(order).toEqual(["default/b", "default/c", "default/a"]);
  });

  it("shows a thousand rows at most, and says how many there are more", () => {
    const pods = Array.from({ length: 1200 }, (_, index) => podOf({ nodeId: `node-${index}`, pod: "" }));
    const page = renderStatusPage(reportOf(ONE, pods));
    expect(page.match(/node-\d+/g)).toHaveLength(1000);
    expect(page).toContain("And 200 more; use the filter above.");
    const report = reportOf(ONE);
    const fleets = Array.from({ length: 1100 }, (_, index) => ({ ...report.fleets[0]!, fleet: `fleet-${index}` }));
    const ofFleets = renderStatusPage({ ...report, fleets });
    expect(ofFleets.match(/fleet-\d+/g)).toHaveLength(1000);
    expect(ofFleets).toContain("And 100 more; use the filter above.");
  });

  it("shows the warnings of a resource without pods and of a pod without resources", () => {
    const publisher = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", fleets: ["cor"] }) });
    const words = wordsOf(renderStatusPage(reportOf(publisher, [podOf({ fleet: "core" })])));
    expect(words.filter((line) => line.includes("warning no"))).toEqual([
      "pod-7 / gateway/pod-7 / namespace edge | core | 192.0.2.1:4711 / since 2026-01-31 12:00:00 UTC | [warning] pending1 warning no valid resource names its fleet core, so it gets none (fleets of resources: cor) | none | none",
      "default/a | alpha | cor | [good] served 1 warning no pod of fleet cor is connected to this replica (fleets with pods: core) | none connected | a.yaml:1",
    ]);
  });
});
