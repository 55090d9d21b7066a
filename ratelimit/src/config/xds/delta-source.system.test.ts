// Tests of the xDS client in the incremental variant, with go-control-plane's snapshot cache and servers that lack
// the variant.
import { createLog, silentLog } from "@weir/common/log/log";
import { rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { type GoControlPlane, startGoControlPlane } from "@weir/harness/servers/go-control-plane";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { describeConfigSource, RecordingListener } from "../config-source.suite.ts";
import type { XdsOptions } from "./xds-options.ts";
import { XdsSource } from "./xds-source.ts";

const NODE = "gateway/pod-7";

function options(port: number): XdsOptions {
  return {
    isIncremental: true,
    serverUrl: `127.0.0.1:${port}`,
    nodeId: NODE,
    nodeMetadata: new Map(),
    headers: new Map(),
    tls: undefined,
    messageMaxBytes: undefined,
    connectRetryMs: 20,
    backoff: { initialMs: 20, maxMs: 100, factor: 0.5, jitter: false },
  };
}

function resource(domain: string, unit = "DAY"): unknown {
  return { name: `resource-${domain}`, domain, descriptors: [{ key: "k", rateLimit: { unit, requestsPerUnit: 1 } }] };
}

describeConfigSource("the xDS client in the incremental variant", async (suiteListener) => {
  const server = await startGoControlPlane();
  let version = 0;
  const publish = (...resources: readonly unknown[]): Promise<void> => {
    version += 1;
    server.publish(NODE, `v${version}`, resources);
    return server.until(() =>
      server.events.some((each) => each.event === "published" && each.version === `v${version}`),
    );
  };
  const open = (to: ConfigListener): ConfigSource =>
    new XdsSource({ listener: to, random: () => 0, log: silentLog() }, options(server.port));
  return {
    source: open(suiteListener),
    another: open,
    publish: (domains) => publish(...domains.map((domain) => resource(domain))),
    publishGarbage: () => publish(resource("garbage", "UNKNOWN")),
    close: () => server.stop(),
  };
});

describe("XdsSource in the incremental variant", () => {
  let source: ConfigSource | undefined;
  let listener: RecordingListener;
  let lines: Record<string, unknown>[];

  beforeEach(() => {
    listener = new RecordingListener();
    lines = [];
  });

  afterEach(async () => {
    await source?.stop();
    source = undefined;
  });

  async function start(port: number): Promise<void> {
    const write = (line: string): unknown => lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = createLog({ level: "info", format: "json", write });
    source = new XdsSource({ listener, random: () => 0, log }, options(port));
    await source.start();
  }

  describe("with go-control-plane", () => {
    let server: GoControlPlane;

    beforeEach(async () => {
      server = await startGoControlPlane();
    });

    afterEach(() => server.stop());

    it("applies what changes and what is removed, and names what it holds on the next stream", async () => {
      server.publish(NODE, "v1", [resource("a"), resource("b")]);
      await start(server.port);
      await listener.until(() => listener.domains().join() === "a,b");
      server.publish(NODE, "v2", [resource("a"), resource("c")]);
      await listener.until(() => listener.domains().join() === "a,c");
      const sent = server.events.filter(({ event }) => event === "sent");
      expect(sent.every(({ delta }) => delta)).toBe(true);
      expect(sent.at(-1)).toMatchObject({ changed: ["resource-c"], removed: ["resource-b"] });
      source?.reload();
      await server.until(() => server.events.some(({ held }) => held !== undefined));
      expect(Object.keys(server.events.find(({ held }) => held !== undefined)?.held ?? {})).toEqual([
        "resource-a",
        "resource-c",
      ]);
      expect(server.events.some(({ error }) => error !== undefined)).toBe(false);
    });

    it("NACKs what it cannot load by the name of the resource, and keeps what it has", async () => {
      server.publish(NODE, "v1", [resource("a")]);
      await start(server.port);
      await listener.until(() => listener.domains().join() === "a");
      server.publish(NODE, "v2", [resource("a", "UNKNOWN"), resource("b")]);
      await server.until(() => server.events.some(({ error }) => error !== undefined));
      expect(server.events.find(({ error }) => error !== undefined)).toMatchObject({
        code: 3,
        error: "resource-a: invalid rate limit unit 'UNKNOWN'",
      });
      expect(listener.domains()).toEqual(["a"]);
      server.publish(NODE, "v3", [resource("c")]);
      await listener.until(() => listener.domains().join() === "c");
    });
  });

  it("asks a server that answers UNIMPLEMENTED in the other variant from then on, and logs that once", async () => {
    const server = new ScriptedAdsServer();
    await server.open();
    try {
      server.publish("v1", [rateLimitConfig("a")]);
      await start(server.port);
      await listener.until(() => listener.domains().join() === "a");
      server.endStreams();
      await server.until(() => server.received.filter(({ kind }) => kind === "subscribed").length === 2);
      expect(server.refusedMethods).toEqual([
        "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
      ]);
      expect(lines.map((line) => line["@message"]).filter((message) => String(message).includes("GRPC_XDS"))).toEqual([
        "The configuration server has no incremental discovery, continuing as GRPC_XDS_SOTW",
      ]);
      expect(server.violations).toEqual([]);
    } finally {
      server.close();
    }
  });
});
