// Tests of metrics.ts, gauges.ts and push-metrics.ts: what a scrape says, and that the number of
// its series is bounded.
import { describe, expect, it } from "vitest";

import { manifest } from "../translate/manifests.suite.ts";
import {
  AT_MS,
  podOf,
  podThatAcked,
  podThatNacked,
  publisherOf,
  reportOf,
  snapshotIn,
} from "../report/rollout/rollout-facts.suite.ts";
import type { RolloutReport } from "../report/rollout/rollout-report.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import type { PublisherState } from "../snapshot/publisher.ts";
import type { SourceCounts } from "../source/source.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

const ONE = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });
const VERSION = snapshotIn(ONE).version;

/** The metrics of a process whose clock stands where the test puts it. */
class Process {
  nowMs = AT_MS;
  publisher: PublisherState = ONE;
  report: RolloutReport;
  readonly pods: PodRegistry = new PodRegistry({ clock: () => this.nowMs });
  readonly metrics: Metrics;

  constructor(report: RolloutReport = reportOf(ONE), counts?: () => SourceCounts) {
    this.report = report;
    this.metrics = createMetrics({
      report: () => this.report,
      streams: () => 3,
      watchers: () => 2,
      pods: this.pods,
      publisher: () => this.publisher,
      source: counts === undefined ? {} : { counts },
      certificate: () => ({ beginMs: AT_MS - 1000, endMs: AT_MS }),
    });
  }

  /** The lines of a scrape that are ours. */
  async scrape(): Promise<readonly string[]> {
    const { text } = await this.metrics.scrape();
    return text.split("\n").filter((line) => line.startsWith("weir_"));
  }

  connect() {
    return this.pods.connected({
      nodeId: "gateway/pod-7",
      fleet: "gateway",
      namespace: "edge",
      pod: "pod-7",
      peer: "192.0.2.1:4711",
    });
  }
}

describe("createMetrics()", () => {
  it("has every series at zero from the start", async () => {
    const lines = await new Process(reportOf(publisherOf({}))).scrape();
    for (const line of [
      "weir_ads_pushes_total 0",
      "weir_ads_acks_total 0",
      'weir_ads_nacks_total{reason="resource"} 0',
      'weir_ads_nacks_total{reason="other"} 0',
      "weir_ads_suppressed_resends_total 0",
      'weir_ads_refusals_total{reason="no-certificate"} 0',
      'weir_ads_refusals_total{reason="name-not-allowed"} 0',
      'weir_ads_refusals_total{reason="fleet-not-allowed"} 0',
      "weir_push_change_to_send_seconds_count 0",
      "weir_push_send_to_ack_seconds_count 0",
      'weir_refused_resources{reason="InvalidSpec"} 0',
      'weir_refused_resources{reason="TooLarge"} 0',
      'weir_refused_resources{reason="RejectedByDataPlane"} 0',
      "weir_quarantined_resources 0",
      'weir_resources{state="quarantined"} 0',
      'weir_pods{fleet="*",state="rejected"} 0',
      'weir_pods_behind{fleet="*"} 0',
      'weir_snapshot_held_back{fleet="*",reason="empty"} 0',
      'weir_snapshot_held_back{fleet="*",reason="too-large"} 0',
      "weir_source_unreadable 0",
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("reports the active snapshot", async () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "alpha" }),
      "c.yaml": "no: manifest",
    });
    const pods = [podThatAcked(snapshotIn(publisher)), podOf({})];
    const lines = await new Process(reportOf(publisher, pods)).scrape();
    for (const line of [
      "weir_ads_streams 3",
      "weir_rollout_watchers 2",
      "weir_ready 1",
      "weir_ads_certificate_not_before_timestamp_seconds 1769860799",
      "weir_ads_certificate_expiry_timestamp_seconds 1769860800",
      "weir_fleets 1",
      `weir_snapshot_info{fleet="*",version="${VERSION}"} 1`,
      'weir_snapshot_bytes{fleet="*"} 204',
      'weir_snapshot_resources{fleet="*"} 1',
      'weir_snapshot_published_timestamp_seconds{fleet="*"} 1769860800',
      "weir_source_last_sync_timestamp_seconds 1769860800",
      'weir_resources{state="served"} 1',
      'weir_resources{state="refused"} 1',
      'weir_refused_resources{reason="DomainConflict"} 1',
      'weir_refused_resources{reason="InvalidSpec"} 1',
      'weir_pods{fleet="*",state="current"} 1',
      'weir_pods_behind{fleet="*"} 1',
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("counts what happens, and how long pods wait and take", async () => {
    const process = new Process();
    const pod = process.connect();
    process.nowMs += 2000;
    pod.sent(VERSION); // Active when the pod connected: it did not wait for that.
    process.nowMs += 40;
    pod.accepted({ snapshot: snapshotIn(ONE), names: undefined });

    process.publisher = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 6 }) });
    process.publisher = { ...process.publisher, changedMs: new Map([["*", AT_MS + 3000]]) };
    process.nowMs = AT_MS + 3300;
    pod.sent(snapshotIn(process.publisher).version);
    process.nowMs += 20_000;
    pod.rejected(snapshotIn(process.publisher).version, "default/a: no", new Map());
    pod.sent(snapshotIn(process.publisher).version); // Asked for again.
    pod.rejected(snapshotIn(process.publisher).version, "default/a: no", new Map());
    for (const text of ["default/a: no", "something else: no"]) pod.rejected(VERSION, text, new Map()); // Of what is not active any more.
    pod.sent(VERSION); // Something else than is active, as after a NACK: it waited for nothing.

    const lines = await process.scrape();
    for (const line of [
      "weir_ads_pushes_total 4",
      "weir_ads_acks_total 1",
      'weir_ads_nacks_total{reason="resource"} 3',
      'weir_ads_nacks_total{reason="other"} 1',
      "weir_ads_suppressed_resends_total 2",
      "weir_push_change_to_send_seconds_count 1",
      "weir_push_change_to_send_seconds_sum 0.3",
      'weir_push_change_to_send_seconds_bucket{le="0.25"} 0',
      'weir_push_change_to_send_seconds_bucket{le="0.5"} 1',
      "weir_push_send_to_ack_seconds_count 1",
      "weir_push_send_to_ack_seconds_sum 0.04",
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("counts resources by the status of them, and those that pods reject by themselves", async () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta" }),
      "c.yaml": manifest({ name: "c", domain: "beta" }),
      "d.yaml": manifest({ name: "d", domain: "delta" }),
      "e.yaml": manifest({ name: "e", domain: "delta" }),
    });
    const pods = [podThatNacked(snapshotIn(publisher), [{ name: "default/b", revision: undefined }])];
    const lines = await new Process(reportOf(publisher, pods)).scrape();
    for (const line of [
      'weir_resources{state="served"} 2',
      'weir_resources{state="last-good"} 0',
      'weir_resources{state="refused"} 2',
      'weir_resources{state="quarantined"} 1',
      'weir_refused_resources{reason="DomainConflict"} 2',
      'weir_refused_resources{reason="RejectedByDataPlane"} 1',
      "weir_quarantined_resources 1",
      'weir_pods{fleet="*",state="rejected"} 1',
      'weir_pods_behind{fleet="*"} 1',
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("counts resources that do not fit, by whether an earlier revision is served, and marks their fleets", async () => {
    const small = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) }, { snapshotMaxBytes: 500 });
    const publisher = publisherOf(
      {
        "a.yaml": manifest({ name: "a", domain: "alpha", largeRules: 1 }),
        "b.yaml": manifest({ name: "b", domain: "beta", largeRules: 1, fleets: ["gold"] }),
        "c.yaml": manifest({ name: "c", domain: "gamma", fleets: ["iron"] }),
      },
      { before: small, snapshotMaxBytes: 500 },
    );
    const lines = await new Process(reportOf(publisher)).scrape();
    for (const line of [
      'weir_resources{state="last-good"} 1',
      'weir_resources{state="refused"} 1',
      'weir_resources{state="served"} 1',
      'weir_refused_resources{reason="TooLarge"} 2',
      'weir_snapshot_held_back{fleet="*",reason="too-large"} 1',
      'weir_snapshot_held_back{fleet="gold",reason="too-large"} 1',
      'weir_snapshot_resources{fleet="iron"} 2',
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("reports that the source cannot be read", async () => {
    expect(await new Process(reportOf({ ...ONE, sourceError: "gone" })).scrape()).toContain("weir_source_unreadable 1");
  });

  it("reports of the process, too", async () => {
    const { text } = await new Process().metrics.scrape();
    for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes", "nodejs_eventloop_lag_seconds"]) {
      expect(text).toContain(`\n${name} `);
    }
  });

  it("takes over what the source counts", async () => {
    let lists = 1;
    const process = new Process(reportOf(ONE), () => ({
      lists,
      watches: 2,
      failures: { expired: 3, refused: 0 },
      readsLastGood: true,
    }));
    await process.scrape();
    lists = 5;
    const lines = await process.scrape();
    for (const line of [
      "weir_source_lists_total 5",
      "weir_source_watches_total 2",
      "weir_source_last_good_readable 1",
      'weir_source_failures_total{kind="expired"} 3',
      'weir_source_failures_total{kind="refused"} 0',
    ]) {
      expect(lines).toContain(line);
    }
  });

  it("sums up the fleets beyond a hundred, so that series stay bounded", async () => {
    const files = Object.fromEntries(
      Array.from({ length: 150 }, (_, index) => [
        `${index}.yaml`,
        manifest({
          name: `r${index}`,
          namespace: `team-${index % 3}`,
          domain: `d${index}`,
          fleets: [`fleet-${String(index).padStart(3, "0")}`],
        }),
      ]),
    );
    const lines = await new Process(reportOf(publisherOf(files), [podOf({ fleet: "fleet-149" })])).scrape();
    expect(lines.filter((line) => line.startsWith("weir_pods_behind{"))).toHaveLength(101);
    expect(lines.filter((line) => line.startsWith("weir_snapshot_info{"))).toHaveLength(100);
    expect(lines).toContain('weir_pods_behind{fleet="(further)"} 1');
    expect(lines).toContain('weir_snapshot_resources{fleet="(further)"} 51');
    expect(lines).toContain("weir_fleets 151");
  });
});
