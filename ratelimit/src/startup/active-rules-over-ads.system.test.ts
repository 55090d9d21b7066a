// Rules that a real go-control-plane server sends, up to the active rules and the answers that the server receives
// of it: in plain text and over mutual TLS.
import type { JsonObject } from "@bufbuild/protobuf";
import { createLog } from "@weir/common/log/log";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import {
  type GoControlPlane,
  type GoControlPlaneOptions,
  startGoControlPlane,
} from "@weir/harness/servers/go-control-plane";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { ConfigSource } from "../config/config-source.ts";
import type { XdsOptions } from "../config/xds/xds-options.ts";
import { XdsSource } from "../config/xds/xds-source.ts";
import { Health } from "../health/health.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ActiveRules } from "./active-rules.ts";

const WAIT = { timeout: 40_000, interval: 10 };

const NODE = "gateway/pod-7";

const FOO: JsonObject = {
  name: "foo-config",
  domain: "foo",
  descriptors: [{ key: "k1", value: "v1", rateLimit: { unit: "MINUTE", requestsPerUnit: 3 } }],
};

/** A client of the server: rules, statistics and log of one pod. */
interface Pod {
  readonly rules: ActiveRules;
  readonly statistics: ServiceStatistics;
  readonly source: ConfigSource;
  readonly lines: Record<string, unknown>[];
}

describe.each(["plain text", "mutual TLS"])("XdsSource with a go-control-plane server over %s", (transport) => {
  const folder = makeTemporaryFolder();
  let serverOptions: GoControlPlaneOptions = {};
  let tls: XdsOptions["tls"];
  let server: GoControlPlane;
  let pods: Pod[];

  beforeAll(async () => {
    if (transport !== "mutual TLS") return;
    const files = await writeCertificates(folder.path, ["control-plane.example"]);
    serverOptions = { certPath: files.serverCert, keyPath: files.serverKey, clientCaPath: files.ca };
    const paths = { certPath: files.clientCert, keyPath: files.clientKey, caPath: files.ca };
    tls = { paths, serverName: "control-plane.example" };
  });

  afterAll(() => folder.remove());

  beforeEach(async () => {
    pods = [];
    server = await startGoControlPlane(serverOptions);
  });

  afterEach(async () => {
    for (const pod of pods) await pod.source.stop();
    await server.stop();
  });

  async function startPod(options: Partial<XdsOptions> & { readonly mergeDomains?: boolean } = {}): Promise<Pod> {
    const { mergeDomains = false, ...overrides } = options;
    const store = new StatisticsStore({ maxDynamicKeys: 10 });
    const statistics = new ServiceStatistics(store);
    const rules = new ActiveRules(
      { store, statistics, health: new Health({ withConfig: false, withActiveConnection: false }) },
      { mergeDomains },
    );
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const source = new XdsSource(
      { listener: rules, random: () => 0, log },
      {
        isIncremental: false,
        serverUrl: `127.0.0.1:${server.port}`,
        nodeId: NODE,
        nodeMetadata: new Map([["fleet", "edge"]]),
        headers: new Map([["authorization", "Bearer x"]]),
        tls,
        messageMaxBytes: undefined,
        connectRetryMs: 20,
        backoff: { initialMs: 20, maxMs: 100, factor: 0.5, jitter: false },
        ...overrides,
      },
    );
    const pod = { rules, statistics, source, lines };
    pods.push(pod);
    await source.start();
    return pod;
  }

  async function untilDump({ rules }: Pod, ...expected: readonly string[]): Promise<void> {
    await expect.poll(() => rules.current()?.dump(), WAIT).toBe(expected.map((line) => `${line}\n`).join(""));
  }

  function warnings({ lines }: Pod): readonly string[] {
    return lines.filter((line) => line["level"] === "warning").map((line) => String(line["reason"]));
  }

  it("case 189: the first snapshot becomes active and is ACKed", async () => {
    server.publish(NODE, "v1", [FOO]);
    const pod = await startPod();
    await untilDump(pod, "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    await server.until(() => server.asked.length >= 2);
    const sent = server.events.find(({ event }) => event === "sent");
    expect(server.asked).toEqual([
      { event: "asked", stream: 1, node: NODE, metadata: { fleet: "edge" } },
      { event: "asked", stream: 1, node: NODE, metadata: { fleet: "edge" }, version: "v1", nonce: sent?.nonce },
    ]);
    expect(server.events.find(({ event }) => event === "opened")?.headers).toMatchObject({
      authorization: ["Bearer x"],
    });
  });

  it("case 190: a new snapshot replaces all active rules", async () => {
    server.publish(NODE, "v1", [FOO]);
    const pod = await startPod();
    await untilDump(pod, "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    server.publish(NODE, "v2", [
      {
        name: "bar-config",
        domain: "bar",
        descriptors: [
          { key: "a", shadowMode: true, rateLimit: { unit: "HOUR", requestsPerUnit: 1 } },
          { key: "b", descriptors: [{ key: "c", value: "d", rateLimit: { unlimited: true } }] },
        ],
      },
    ]);
    await untilDump(
      pod,
      "bar.a: unit=HOUR requests_per_unit=1, shadow_mode: true, quota_mode: false",
      "bar.b.c_d: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false",
    );
    server.publish(NODE, "v3", []);
    await untilDump(pod);
    await server.until(() => server.asked.at(-1)?.version === "v3");
    expect([pod.statistics.configLoadSuccess.value, pod.statistics.configLoadError.value]).toEqual([3, 0]);
  });

  it("case 191: two resources of one domain are merged when asked to, and rejected otherwise", async () => {
    const more = {
      name: "more-config",
      domain: "foo",
      descriptors: [{ key: "k2", rateLimit: { unit: "DAY", requestsPerUnit: 4 } }],
    };
    server.publish(NODE, "v1", [FOO]);
    const merging = await startPod({ mergeDomains: true });
    const strict = await startPod();
    const first = "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false";
    await untilDump(merging, first);
    await untilDump(strict, first);
    server.publish(NODE, "v2", [FOO, more]);
    // The server keeps resources in a map: either may come first.
    await expect
      .poll(() => merging.rules.current()?.dump().split("\n").sort(), WAIT)
      .toEqual(["", first, "foo.k2: unit=DAY requests_per_unit=4, shadow_mode: false, quota_mode: false"]);
    await server.until(() =>
      server.asked.some(({ error }) => /^(foo|more)-config: duplicate domain 'foo' in config file$/.test(error ?? "")),
    );
    await untilDump(strict, first);
  });

  it("case 192: an invalid resource is rejected with the last good version and the received nonce", async () => {
    server.publish(NODE, "v1", [FOO]);
    const pod = await startPod();
    await server.until(() => server.asked.length >= 2);
    server.publish(NODE, "v2", [{ ...FOO, descriptors: [{ key: "k1", rateLimit: { requestsPerUnit: 3 } }] }]);
    await server.until(() => server.asked.length >= 3);
    const sent = server.events.find(({ event, version }) => event === "sent" && version === "v2");
    expect(server.asked[2]).toMatchObject({
      version: "v1",
      nonce: sent?.nonce,
      code: 3,
      error: "foo-config: invalid rate limit unit 'UNKNOWN'",
    });
    await untilDump(pod, "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    server.publish(NODE, "v3", [{ ...FOO, domain: "good" }]);
    await untilDump(pod, "good.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    await server.until(() => server.asked.at(-1)?.version === "v3");
    // The server sends a NACKed response again immediately, each time: it must not become a loop of
    // messages.
    expect(server.asked.length).toBeLessThan(20);
    expect(pod.lines.filter((line) => line["level"] === "error")).toHaveLength(1);
  });

  it("a server that comes back receives the active version and continues from it", async () => {
    server.publish(NODE, "v1", [FOO]);
    const pod = await startPod();
    await server.until(() => server.asked.length >= 2);
    const { port } = server;
    await server.stop();
    await expect.poll(() => warnings(pod).length, WAIT).toBeGreaterThan(0);
    await untilDump(pod, "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    server = await startGoControlPlane({ ...serverOptions, port });
    await server.until(() => server.asked.length >= 1);
    expect(server.asked[0]).toEqual({
      event: "asked",
      stream: 1,
      node: NODE,
      metadata: { fleet: "edge" },
      version: "v1",
    });
    server.publish(NODE, "v2", [{ ...FOO, domain: "later" }]);
    await untilDump(pod, "later.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
  });

  it("each of two pods gets the snapshot of its node, and keeps it when the snapshot is taken away", async () => {
    server.publish("one", "v1", [{ ...FOO, domain: "one" }]);
    server.publish("two", "v7", [{ ...FOO, domain: "two" }]);
    const one = await startPod({ nodeId: "one" });
    const two = await startPod({ nodeId: "two" });
    await untilDump(one, "one.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    await untilDump(two, "two.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    server.clear("one");
    server.publish("two", "v8", [{ ...FOO, domain: "three" }]);
    await untilDump(two, "three.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    await untilDump(one, "one.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
  });

  it("5 MiB of rules exceed the default limit with a hint and a wait, and taken with a higher one", async () => {
    const descriptors = Array.from({ length: 5 * 1024 }, (_, index) => ({
      key: "k",
      value: `${index}-${"v".repeat(1024)}`,
      rateLimit: { unit: "DAY", requestsPerUnit: 1 },
    }));
    server.publish(NODE, "v1", [FOO]);
    const narrow = await startPod();
    const wide = await startPod({ messageMaxBytes: 16 * 1024 * 1024 });
    await server.until(() => server.asked.filter(({ version }) => version === "v1").length >= 2);
    server.publish(NODE, "v2", [{ ...FOO, descriptors }]);
    await expect.poll(() => wide.rules.current()?.dump().split("\n").length, WAIT).toBe(5 * 1024 + 1);
    await expect.poll(() => warnings(narrow).length, WAIT).toBeGreaterThan(1);
    expect(warnings(narrow)[0]).toMatch(
      /^XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES raises the limit \(8 RESOURCE_EXHAUSTED: .*\)$/,
    );
    await untilDump(narrow, "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    server.publish(NODE, "v3", [{ ...FOO, domain: "small" }]);
    await untilDump(narrow, "small.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
  });

  it("a silent server is noticed by pings and found again when it continues", async () => {
    server.publish(NODE, "v1", [FOO]);
    const pod = await startPod({ keepalive: { timeMs: 200, timeoutMs: 1000 }, connectTimeoutMs: 2000 });
    await server.until(() => server.asked.length >= 2);
    await server.freeze(true);
    const before = warnings(pod).length;
    await expect.poll(() => warnings(pod).length, WAIT).toBeGreaterThan(before);
    await untilDump(pod, "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
    await server.freeze(false);
    server.publish(NODE, "v2", [{ ...FOO, domain: "awake" }]);
    await untilDump(pod, "awake.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false");
  });
});
