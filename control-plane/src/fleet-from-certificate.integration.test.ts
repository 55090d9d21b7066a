// Tests of ADS_FLEET_FROM_CERTIFICATE, ADS_REPORT_SANS and HTTP_REPORTS with real certificates: the
// answers to each client, over each method of the port for pods and over HTTP.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ServiceError, status } from "@grpc/grpc-js";
import { createLog } from "@weir/common/log/log";
import { namesOf } from "@weir/harness/ads/pod-end";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import type { NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigDiscoveryService } from "@weir/proto/generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb";
import { GetRolloutRequestSchema, RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  callOnce,
  createTestCertificates,
  tlsOf,
  type TestCertificates,
  type TestIdentity,
  until,
} from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { askRollout } from "./report/rollout/ask-rollout.suite.ts";
import { parseSettings } from "./settings.ts";

const AGGREGATED = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources.path;
const { streamRlsConfigs, fetchRlsConfigs } = serviceDefinition(RateLimitConfigDiscoveryService);
const { getRollout } = serviceDefinition(RolloutService);

const CORE = "spiffe://cluster.local/ns/shop/fleet/core";

/** The result of a call: names of resources, or a status. */
type Outcome = readonly string[] | { readonly code: number; readonly details: string };

type NodeText = MessageInitShape<typeof NodeSchema>;

describe("ADS_FLEET_FROM_CERTIFICATE", () => {
  let folder: string;
  let certificates: TestCertificates;
  let controlPlane: ControlPlane;
  let lines: Record<string, unknown>[];
  const open: { close(): void }[] = [];

  async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const settings = parseSettings({
      SOURCE_DIRECTORY: folder,
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
      ADS_TLS_CERT: certificates.server.certPath,
      ADS_TLS_KEY: certificates.server.keyPath,
      ADS_TLS_CLIENT_CACERT: certificates.server.caPath,
      ADS_FLEET_FROM_CERTIFICATE: "true",
      ...env,
    });
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    controlPlane = new ControlPlane({ log, clock: Date.now, tracer: undefined }, settings);
    await controlPlane.lifecycle.start();
  }

  /** A client certificate with these names. */
  async function issue(names: { readonly uris?: string[]; readonly dnsNames?: string[] }): Promise<TestIdentity> {
    const { authority } = certificates;
    const pair = await authority.issue({ commonName: "pod", ...names, usage: "client", now: new Date(), validDays: 1 });
    return { ...pair, caPem: authority.certPem };
  }

  function port(): number {
    return controlPlane.ads.address()?.port ?? 0;
  }

  async function stream(identity: TestIdentity, path: string, node: NodeText): Promise<Outcome> {
    const pod = new ScriptedPod(port(), { tls: tlsOf(identity), path });
    open.push(pod);
    pod.request({ node });
    await until("a response or the end", () => pod.responses.length > 0 || pod.end !== undefined);
    return pod.end ?? namesOf(pod.last);
  }

  async function fetchOnce(identity: TestIdentity, node: NodeText): Promise<Outcome> {
    try {
      const request = create(DiscoveryRequestSchema, { node });
      return namesOf(await callOnce(port(), fetchRlsConfigs, request, identity));
    } catch (error) {
      const { code, details } = error as ServiceError;
      return { code, details };
    }
  }

  /** The outcome of each discovery method. */
  async function outcomes(identity: TestIdentity, node: NodeText = { id: "pod-7" }): Promise<readonly Outcome[]> {
    return [
      await stream(identity, AGGREGATED, node),
      await stream(identity, streamRlsConfigs.path, node),
      await fetchOnce(identity, node),
    ];
  }

  function warnings(): readonly Record<string, unknown>[] {
    return lines.filter((line) => line["level"] === "warning");
  }

  async function get(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${controlPlane.http.address()?.port ?? 0}${path}`, { redirect: "manual", ...init });
  }

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-fleet-")));
    writeFileSync(join(folder, "all.yaml"), manifest({ name: "all", domain: "alpha" }));
    for (const fleet of ["core", "edge"])
      writeFileSync(join(folder, `${fleet}.yaml`), manifest({ name: fleet, domain: fleet, fleets: [fleet] }));
    certificates = await createTestCertificates();
    lines = [];
  });

  afterEach(async () => {
    for (const each of open.splice(0)) each.close();
    await controlPlane.lifecycle.stop();
    certificates.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each<{ when: string; node: NodeText }>([
    { when: "names none", node: { id: "pod-7" } },
    { when: "has no id", node: {} },
    { when: "names it in its id", node: { id: "core/pod-7" } },
    { when: "names it in its metadata", node: { id: "a/b", metadata: { fleet: "core" } } },
    { when: "names its namespace, too", node: { id: "core/b", metadata: { namespace: "shop" } } },
  ])("serves the fleet of the certificate over every method when the node $when", async ({ node }) => {
    await start();
    const names = ["default/all", "default/core"];
    expect(await outcomes(await issue({ uris: [CORE] }), node)).toEqual([names, names, names]);
    const report = await askRollout(controlPlane.http.address()?.port ?? 0);
    const peer: unknown = expect.stringMatching(/^127\.0\.0\.1:\d+$/);
    const pod = { namespace: "shop", fleet: "core", peer };
    expect(report.pods).toMatchObject([pod, pod]);
    expect(lines.filter((line) => line["@message"] === "Pod connected").map(({ fleet }) => fleet)).toEqual([
      "core",
      "core",
    ]);
    expect(warnings()).toEqual([]);
  });

  it("serves a fleet that no resource names what every fleet gets", async () => {
    await start();
    const names = ["default/all"];
    expect(await outcomes(await issue({ uris: [CORE.replace("core", "other")] }))).toEqual([names, names, names]);
  });

  it.each<{ what: "fleet" | "namespace"; node: NodeText; named: string }>([
    { what: "fleet", node: { id: "edge/pod-7" }, named: "edge" },
    { what: "fleet", node: { id: "core/pod-7", metadata: { fleet: "edge" } }, named: "edge" },
    { what: "fleet", node: { id: "Core/pod-7" }, named: "Core" },
    { what: "fleet", node: { id: `${"f".repeat(300)}/pod-7` }, named: `${"f".repeat(100)}…` },
    { what: "namespace", node: { id: "core/pod-7", metadata: { namespace: "bank" } }, named: "bank" },
    { what: "namespace", node: { metadata: { fleet: "core", namespace: "Shop", pod: "pod-7" } }, named: "Shop" },
  ])("refuses a node over every method that names another $what: $named", async ({ what, node, named }) => {
    await start();
    const own = { fleet: "core", namespace: "shop" }[what];
    const refusal = {
      code: status.PERMISSION_DENIED,
      details: `the node names the ${what} ${named}, and the client certificate is for the ${what} ${own} (${CORE})`,
    };
    expect(await outcomes(await issue({ uris: [CORE] }), node)).toEqual([refusal, refusal, refusal]);
    expect(warnings()).toMatchObject([
      {
        "@message": `Refused a pod, it names another ${what} than its certificate`,
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        uri: CORE,
        [what]: own,
        named,
      },
    ]);
    expect(await (await get("/metrics")).text()).toMatch(/^weir_ads_refusals_total\{reason="fleet-not-allowed"\} 3$/m);
    const report = await askRollout(controlPlane.http.address()?.port ?? 0);
    expect(report.pods).toEqual([]);
  });

  it("reports a pod as it is, whatever another tenant's certificate claims to be", async () => {
    await start();
    const metadata = { namespace: "shop", pod: "core-1" };
    const bank = await issue({ uris: ["spiffe://cluster.local/ns/bank/fleet/core"] });
    expect(await stream(await issue({ uris: [CORE] }), AGGREGATED, { metadata })).toEqual([
      "default/all",
      "default/core",
    ]);
    expect(await stream(bank, AGGREGATED, { metadata })).toMatchObject({ code: status.PERMISSION_DENIED });
    await stream(bank, AGGREGATED, { metadata: { pod: "core-1" } });
    const report = await askRollout(controlPlane.http.address()?.port ?? 0);
    expect(report.pods.map(({ namespace, pod }) => [namespace, pod])).toEqual([
      ["shop", "core-1"],
      ["bank", "core-1"],
    ]);
  });

  it("gives the pods of one namespace so many streams, in all its fleets, and those of others theirs", async () => {
    await start({ ADS_STREAMS_PER_IDENTITY: "2" });
    const [core, edge, bank] = await Promise.all(
      [CORE, CORE.replace("core", "edge"), CORE.replace("shop", "bank")].map((uri) => issue({ uris: [uri] })),
    );
    const [first] = [
      await stream(core!, AGGREGATED, { id: "pod-1" }),
      await stream(edge!, AGGREGATED, { id: "pod-2" }),
    ];
    expect(first).toEqual(["default/all", "default/core"]);
    for (const identity of [core!, edge!])
      expect(await stream(identity, streamRlsConfigs.path, { id: "pod-3" })).toEqual({
        code: status.RESOURCE_EXHAUSTED,
        details: "the namespace shop has its maximum of streams on this replica, ADS_STREAMS_PER_IDENTITY=2",
      });
    expect(await stream(bank!, AGGREGATED, { id: "pod-4" })).toEqual(["default/all", "default/core"]);
    expect(controlPlane.ads.streams()).toBe(3);
    expect(warnings()).toMatchObject([
      {
        "@message": "Refused a pod, its namespace or address has its maximum of streams on this replica",
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        identity: "namespace shop",
        streams: 2,
      },
    ]);
    expect(await (await get("/metrics")).text()).toMatch(
      /^weir_ads_refusals_total\{reason="too-many-streams-of-identity"\} 2$/m,
    );
    open.shift()!.close();
    await until("the end of a pod", () => controlPlane.ads.streams() === 2);
    expect(await stream(core!, AGGREGATED, { id: "pod-5" })).toEqual(["default/all", "default/core"]);
  });

  it("counts the streams of an address when pods name their fleet", async () => {
    await start({ ADS_FLEET_FROM_CERTIFICATE: "false", ADS_STREAMS_PER_IDENTITY: "1" });
    await stream(await issue({ uris: [CORE] }), AGGREGATED, { id: "core/pod-1" });
    const other = await issue({ uris: [CORE.replace("shop", "bank")] });
    expect(await stream(other, AGGREGATED, { id: "edge/pod-2" })).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      details: "the address 127.0.0.1 has its maximum of streams on this replica, ADS_STREAMS_PER_IDENTITY=1",
    });
  });

  it("refuses a pod that names another fleet only later on its stream", async () => {
    await start();
    const pod = new ScriptedPod(port(), { tls: tlsOf(await issue({ uris: [CORE] })) });
    open.push(pod);
    pod.request({ node: { id: "core/pod-7" } });
    await pod.response(1);
    pod.request({ version: pod.last.versionInfo, nonce: pod.last.nonce, node: { id: "edge/pod-7" } });
    expect(await pod.ended()).toMatchObject({ code: status.PERMISSION_DENIED });
    await until("the end of the pod", () => controlPlane.ads.streams() === 0);
  });

  it.each<{ when: string; uris?: string[]; dnsNames?: string[]; shown: string }>([
    { when: "has no URI", dnsNames: ["ratelimit"], shown: "none" },
    { when: "has the URI as a DNS name", dnsNames: [CORE], shown: "none" },
    {
      when: "has two fleets",
      uris: [CORE, CORE.replace("core", "edge")],
      shown: `${CORE}, ${CORE.replace("core", "edge")}`,
    },
    { when: "has another URI, too", uris: [CORE, "https://weir.example"], shown: `${CORE}, https://weir.example` },
    { when: "has two URIs in one", uris: [`${CORE}, URI:${CORE}`], shown: `${CORE}, URI:${CORE}` },
    { when: "has a quoted URI", uris: [`"${CORE}"`], shown: `"${CORE}"` },
    {
      when: "has a percent-encoded fleet",
      uris: [CORE.replace("core", "co%72e")],
      shown: CORE.replace("core", "co%72e"),
    },
    {
      when: "has a fleet that follows an empty segment",
      uris: [CORE.replace("/core", "//core")],
      shown: CORE.replace("/core", "//core"),
    },
    {
      when: "has the path in upper case",
      uris: [CORE.replace("fleet", "FLEET")],
      shown: CORE.replace("fleet", "FLEET"),
    },
    { when: "has a null character", uris: [`${CORE}\0x`], shown: `${CORE}\0x` },
  ])("refuses a certificate over every method that $when", async ({ shown, when: _when, ...names }) => {
    await start();
    const form = "spiffe://<trust domain>/ns/<namespace>/fleet/<fleet>";
    const results = await outcomes(await issue(names));
    for (const result of results) {
      expect(result).toMatchObject({ code: status.PERMISSION_DENIED });
      expect(result).toMatchObject({
        details: expect.stringContaining(`the client certificate must have exactly one URI, ${form}, its URIs are: `),
      });
    }
    expect(warnings()).toMatchObject([
      {
        "@message": `Refused a pod, its certificate does not have exactly one URI ${form}`,
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
        uris: shown,
      },
    ]);
  });

  it("reads a DNS name that looks like further names as one name", async () => {
    await start();
    const names = ["default/all", "default/core"];
    const identity = await issue({ dnsNames: ["a, URI:spiffe://x/ns/y/fleet/edge"], uris: [CORE] });
    expect(await outcomes(identity)).toEqual([names, names, names]);
  });

  it("lets pods name their fleet without the setting", async () => {
    await start({ ADS_FLEET_FROM_CERTIFICATE: "false" });
    const names = ["default/all", "default/edge"];
    expect(await outcomes(await issue({ uris: [CORE] }), { id: "edge/pod-7" })).toEqual([names, names, names]);
  });

  describe("with reports", () => {
    async function reports(identity: TestIdentity): Promise<string> {
      return await callOnce(port(), getRollout, create(GetRolloutRequestSchema), identity).then(
        () => "answered",
        (error: unknown) => (error as ServiceError).details,
      );
    }

    function refusal(names: string): string {
      return `reports need a client certificate with a name in ADS_REPORT_SANS, its names are: ${names}`;
    }

    it("answers no client on the port for pods without ADS_REPORT_SANS", async () => {
      await start();
      expect(await reports(await issue({ uris: [CORE] }))).toEqual(refusal(CORE));
      expect(await reports(await issue({ dnsNames: ["operator"] }))).toEqual(refusal("operator"));
      expect(await (await get("/metrics")).text()).toMatch(/^weir_ads_refusals_total\{reason="name-not-allowed"\} 2$/m);
    });

    it.each([
      { what: "with the fleet from the certificate", setting: "true" },
      { what: "with fleets that pods name", setting: "false" },
    ])(
      "answers a client with a name of ADS_REPORT_SANS, also outside of ADS_ALLOWED_SANS, $what",
      async ({ setting }) => {
        await start({
          ADS_FLEET_FROM_CERTIFICATE: setting,
          ADS_ALLOWED_SANS: CORE,
          ADS_REPORT_SANS: "operator, spiffe://weir/operator",
        });
        expect(await reports(await issue({ dnsNames: ["operator"] }))).toBe("answered");
        expect(await reports(await issue({ uris: ["spiffe://weir/operator"] }))).toBe("answered");
        const pod = await issue({ uris: [CORE] });
        expect(await reports(pod)).toEqual(refusal(CORE));
        expect((await outcomes(pod, { id: "core/pod-7" }))[0]).toEqual(["default/all", "default/core"]);
      },
    );

    it("leaves probes and metrics on HTTP_PORT with HTTP_REPORTS=false", async () => {
      await start({ HTTP_REPORTS: "false" });
      const message = "reports are not served on this port, because HTTP_REPORTS=false";
      const rolloutApi = "/weir.rollout.v1.RolloutService";
      const asked = await get(`${rolloutApi}/GetRollout`);
      expect([asked.status, await asked.text()]).toEqual([404, `${message}\n`]);
      for (const method of ["GetRollout", "WatchRollout"]) {
        const headers = { "content-type": "application/json" };
        const answer = await get(`${rolloutApi}/${method}`, { method: "POST", body: "{}", headers });
        expect([answer.status, await answer.json()]).toEqual([404, { code: "failed_precondition", message }]);
      }
      for (const path of ["/healthz", "/readyz", "/metrics"]) expect((await get(path)).status).toBe(200);
      expect(controlPlane.describe()).toMatchObject({ probes: expect.stringMatching(/^http:.*\/readyz$/) });
    });
  });
});
