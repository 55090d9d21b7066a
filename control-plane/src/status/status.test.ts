// Tests of report-rollout.ts, status-page.ts, metrics.ts and the choice of format in status-routes.ts: one state, seen in each of them.
import { describe, expect, it } from "vitest";

import { assemble } from "../assemble/assemble.ts";
import { manifest, stateOf } from "../assemble/manifests.suite.ts";
import type { PodState } from "../rollout/pod-registry.ts";
import { publish, UNPUBLISHED } from "../snapshot/publication.ts";
import type { PublisherState } from "../snapshot/publisher.ts";
import { NO_REJECTIONS } from "../snapshot/rejections.ts";
import { buildSnapshots } from "../snapshot/snapshot.ts";
import { createMetrics } from "./metrics.ts";
import { renderStatusPage } from "./status-page.ts";
import { reportRollout } from "../report/report-rollout.ts";
import type { RolloutReport } from "../report/rollout-report.ts";
import { wantsJson } from "./status-routes.ts";

const AT_MS = Date.UTC(2026, 0, 31, 12);
const AT = "2026-01-31T12:00:00.000Z";
const VERSION = "1d9ef20497bdfd4488ec6996dfbaa672";

/** A publisher that has read these files. */
function publisherOf(files: Readonly<Record<string, string>>, snapshotMaxBytes = 100_000): PublisherState {
  const read = stateOf(files);
  const assembly = assemble(read);
  const wanted = buildSnapshots(assembly);
  const publication = publish(UNPUBLISHED, wanted, AT_MS, { snapshotMaxBytes, allowEmptyAfterMs: 0 });
  const published = [...publication].filter(([, { snapshot }]) => snapshot !== undefined);
  const publishedMs = new Map(published.map(([fleet]) => [fleet, AT_MS]));
  return { read, assembly, publication, publishedMs, changedMs: publishedMs, wanted, rejections: NO_REJECTIONS, sourceError: undefined };
}

function podOf(difference: Partial<PodState>): PodState {
  return {
    nodeId: "gateway/pod-7",
    fleet: "gateway",
    namespace: "edge",
    pod: "pod-7",
    peer: "192.0.2.1:4711",
    connectedMs: AT_MS,
    sent: undefined,
    accepted: undefined,
    rejected: undefined,
    ...difference,
  };
}

function reportOf(publisher: PublisherState, pods: readonly PodState[] = []): RolloutReport {
  const source = { location: "limits", condition: () => ({ syncedMs: AT_MS, problem: undefined }) };
  return reportRollout({ replica: "replica-1", nowMs: AT_MS, notReady: undefined, source, publisher, pods });
}

const ONE = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });
const EVENT = { version: VERSION, atMs: AT_MS };

describe("reportRollout()", () => {
  it("tells what is served, and which pod has accepted which version", () => {
    expect(reportOf(ONE, [podOf({ sent: EVENT, accepted: EVENT })])).toEqual({
      replica: "replica-1",
      observedAt: AT,
      ready: true,
      notReady: null,
      source: { location: "limits", error: null, syncedAt: AT },
      fleets: [
        {
          fleet: "*",
          version: VERSION,
          resources: 1,
          bytes: 204,
          publishedAt: AT,
          heldBack: null,
          pods: 1,
          podStates: { current: 1, rejected: 0, pending: 0, waiting: 0 },
        },
      ],
      resources: [
        {
          resource: "default/a",
          namespace: "default",
          name: "a",
          domain: "alpha",
          generation: null,
          fleets: null,
          state: "served",
          reason: null,
          problems: [],
          servesLastGood: false,
          file: "a.yaml",
          line: 1,
          pods: 1,
          podStates: { current: 1, rejected: 0, pending: 0, waiting: 0 },
          warnings: [],
        },
      ],
      refusals: [],
      pods: [
        {
          node: "gateway/pod-7",
          pod: "pod-7",
          namespace: "edge",
          fleet: "gateway",
          peer: "192.0.2.1:4711",
          connectedAt: AT,
          state: "current",
          sent: { version: VERSION, at: AT },
          accepted: { version: VERSION, at: AT },
          rejected: null,
        },
      ],
    });
  });

  it.each([
    { when: "it has accepted what is in force", pod: podOf({ accepted: EVENT }), state: "current" },
    { when: "it has accepted something else", pod: podOf({ accepted: { ...EVENT, version: "old" } }), state: "pending" },
    { when: "it has not answered", pod: podOf({ sent: EVENT }), state: "pending" },
    { when: "it has rejected what is in force", pod: podOf({ rejected: { ...EVENT, message: "no" } }), state: "rejected" },
    { when: "it has rejected something else", pod: podOf({ rejected: { ...EVENT, version: "old", message: "no" } }), state: "pending" },
  ])("says that a pod is $state when $when", ({ pod, state }) => {
    expect(reportOf(ONE, [pod]).pods[0]?.state).toBe(state);
  });

  it("says that a pod waits when nothing is in force", () => {
    const nothing: PublisherState = {
      read: undefined,
      assembly: undefined,
      publication: UNPUBLISHED,
      publishedMs: new Map(),
      changedMs: new Map(),
      wanted: undefined,
      rejections: NO_REJECTIONS,
      sourceError: "Cannot read the folder x",
    };
    const report = reportOf(nothing, [podOf({})]);
    expect([report.pods[0]?.state, report.fleets, report.source.error]).toEqual(["waiting", [], "Cannot read the folder x"]);
  });

  it("counts pods with the snapshot that they are sent", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta", fleets: ["gold"] }),
    });
    const pods = [podOf({ fleet: "gold" }), podOf({ fleet: "silver" }), podOf({ fleet: "default" })];
    expect(reportOf(publisher, pods).fleets.map(({ fleet, pods: count }) => [fleet, count])).toEqual([
      ["*", 2],
      ["gold", 1],
    ]);
  });

  it("names resources that make a snapshot too large", () => {
    const publisher = publisherOf({ "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1 }) }, 500);
    const report = reportOf(publisher);
    expect(report.fleets[0]).toMatchObject({ version: null, heldBack: "too-large" });
    expect(report.refusals).toMatchObject([
      {
        reason: "TooLarge",
        resource: "default/large",
        file: "large.yaml",
        message: "with it the configuration of fleet * has 1222 bytes, more than SNAPSHOT_MAX_BYTES; what was in force before stays",
      },
    ]);
  });
});

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

describe("createMetrics()", () => {
  /** The lines of a scrape that are ours. */
  async function scrape(
    report: RolloutReport,
    act: (metrics: ReturnType<typeof createMetrics>) => void = () => undefined,
  ): Promise<readonly string[]> {
    const metrics = createMetrics({ report: () => report, streams: () => 3 });
    act(metrics);
    const { text } = await metrics.scrape();
    return text.split("\n").filter((line) => line.startsWith("weir_"));
  }

  it("has every series at zero from the start", async () => {
    const lines = await scrape(reportOf(publisherOf({})));
    for (const line of [
      "weir_ads_pushes_total 0",
      "weir_ads_acks_total 0",
      "weir_ads_nacks_total 0",
      'weir_refused_resources{reason="InvalidSpec"} 0',
      'weir_refused_resources{reason="TooLarge"} 0',
      'weir_pods{fleet="*",state="rejected"} 0',
      'weir_snapshot_held_back{fleet="*",reason="empty"} 0',
      "weir_source_unreadable 0",
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("counts what happens and tells what is in force", async () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "alpha" }),
    });
    const lines = await scrape(reportOf(publisher, [podOf({ accepted: EVENT })]), ({ counters }) => {
      counters.pushed();
      counters.pushed();
      counters.acknowledged();
      counters.rejected("default/a: no");
    });
    for (const line of [
      "weir_ads_pushes_total 2",
      "weir_ads_acks_total 1",
      "weir_ads_nacks_total 1",
      "weir_ads_streams 3",
      `weir_snapshot_info{fleet="*",version="${VERSION}"} 1`,
      'weir_snapshot_bytes{fleet="*"} 204',
      'weir_snapshot_resources{fleet="*"} 1',
      'weir_resources{state="served"} 1',
      'weir_refused_resources{reason="DomainConflict"} 1',
      'weir_pods{fleet="*",state="current"} 1',
    ]) {
      expect(lines).toContain(line);
    }
  });
});

describe("wantsJson()", () => {
  it.each([
    { url: "/status", accept: undefined, expected: false },
    { url: "/status?format=json", accept: "text/html", expected: true },
    { url: "/status?format=html", accept: "application/json", expected: false },
    { url: "/status", accept: "application/json", expected: true },
    { url: "/status", accept: "text/html,application/xhtml+xml,application/json;q=0.9", expected: false },
    { url: "/status", accept: "*/*", expected: false },
  ])("says $expected for $url with Accept $accept", ({ url, accept, expected }) => {
    expect(wantsJson({ url, headers: accept === undefined ? {} : { accept } })).toBe(expected);
  });
});
