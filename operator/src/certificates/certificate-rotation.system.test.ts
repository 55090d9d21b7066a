// A real control plane and a real rate limit pod over the files of the certificates that the operator
// makes, stage by stage while one authority follows another. Neither is restarted; their connection goes
// through a relay that cuts it in each stage, so that each is tried with a new handshake.
import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

import { createLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { MountedSecret } from "@weir/harness/kubernetes/mounted-secret";
import { startSource } from "@weir/harness/processes/programs";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { CertificateKeeper } from "./certificate-keeper.ts";
import { CONTROL_PLANE_SECRET, OPERATOR_SECRET, RATELIMIT_SECRET, SECRETS } from "./certificate-secret.ts";
import { FakeObjects } from "./fake-objects.suite.ts";
import { type CertificateNaming, operatorUri } from "./leaf-plan.ts";

const HOST = "127.0.0.1";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const NAMING: CertificateNaming = {
  namespace: "weir-system",
  clusterDomain: "cluster.local",
  controlPlaneServices: ["weir-control-plane"],
  webhookService: "weir-operator",
};

/** The processes, and the Secret whose files each has. */
const PLACES = {
  controlPlane: { namespace: "weir-system", name: CONTROL_PLANE_SECRET },
  operator: { namespace: "weir-system", name: OPERATOR_SECRET },
  pod: { namespace: "shop", name: RATELIMIT_SECRET },
} as const;

type Place = keyof typeof PLACES;

describe("certificates that change under running processes", () => {
  const folder = makeTemporaryFolder();
  const realMs = Date.now();
  /** So long ago that the first authority is due. */
  let nowMs = realMs - 245 * DAY_MS;
  const objects = new FakeObjects(() => nowMs);
  const processes: Program[] = [];
  let ports: readonly number[];
  let limit = 0;
  const mounted = new Map<Place, MountedSecret>();
  /** Both sides of the connections through the relay. */
  const sockets = new Set<Socket>();
  const relay = createServer((fromPod) => {
    const toControlPlane = connect(ports[0] ?? 0, HOST);
    for (const [socket, other] of [
      [fromPod, toControlPlane],
      [toControlPlane, fromPod],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => undefined); // Its end follows.
      socket.on("close", () => other.destroy());
      socket.pipe(other);
    }
  });

  const service = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitService", uid: "1", createdMs: 0 };
  const keeper = new CertificateKeeper(
    {
      log: createLog({ level: "error", format: "json", write: () => undefined }),
      clock: () => nowMs,
      objects,
      events: { record: () => undefined },
      services: () => [{ ...service, namespace: "shop", name: "core", fleet: "shop.core" }],
    },
    NAMING,
  );

  async function pass(): Promise<void> {
    await keeper.reconcile(keeper.key, new AbortController().signal);
  }

  /** Brings a Secret to its files, as a kubelet does; `edit` changes what is in them. */
  function deliver(place: Place, edit = (_name: string, text: string): string => text): void {
    const data = Object.entries(objects.dataOf(SECRETS, PLACES[place]) ?? {});
    const values = Object.fromEntries(data.map(([name, text]) => [name, edit(name, text)]));
    const before = mounted.get(place);
    if (before === undefined) mounted.set(place, new MountedSecret(values, join(folder.path, place)));
    else before.replace(values); // All together: a process must not read the half of it.
  }

  function run(main: string, env: Readonly<Record<string, string>>): void {
    processes.push(startSource(main, { ...env, LOG_LEVEL: "info" }));
  }

  function file(place: Place, name: string): string {
    return join(folder.path, place, name);
  }

  /** Cuts the connection of the pod, changes the limit, and waits until the pod has connected again and has it. */
  async function expectConnection(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await expectEdit();
    expect(sockets.size).toBeGreaterThan(0);
  }

  async function expectEdit(): Promise<void> {
    limit += 1;
    const rule = { key: "user", rateLimit: { unit: "year", requestsPerUnit: limit } };
    const metadata = { name: "a", namespace: "shop" };
    const spec = { domain: "d", fleets: ["shop.core"], descriptors: [rule] };
    const manifest = { apiVersion: "ratelimit.weir.dev/v1alpha1", kind: "RateLimitConfig", metadata, spec };
    const path = join(folder.path, "manifests", "a.json");
    writeFileSync(`${path}.new`, JSON.stringify(manifest));
    renameSync(`${path}.new`, path);
    await eventually(`the limit ${limit}; ${outputs()}`, async () => {
      const response = await fetch(`http://${HOST}:${ports[2]}/rlconfig`);
      expect(await response.text()).toContain(`requests_per_unit=${limit},`);
    });
  }

  function outputs(): string {
    return processes.map((each) => each.text().slice(-2000)).join("\n---\n");
  }

  beforeAll(async () => {
    for (const place of [...Object.keys(PLACES), "manifests"]) mkdirSync(join(folder.path, place));
    ports = await reservePorts(6);
    await pass();
    nowMs = realMs - 3 * HOUR_MS;
    const [adsPort, httpPort, debugPort, grpcPort, podHttpPort, metricsPort] = ports.map(String);
    // Renews the certificates, and makes the next authority, which no file has yet.
    await pass();
    for (const place of Object.keys(PLACES) as Place[]) deliver(place, firstAuthorityOnly);
    relay.listen(0, HOST);
    await once(relay, "listening");
    const relayPort = String((relay.address() as AddressInfo).port);
    run("control-plane/src/main.ts", {
      SOURCE_DIRECTORY: join(folder.path, "manifests"),
      ADS_HOST: HOST,
      ADS_PORT: adsPort ?? "",
      HTTP_HOST: HOST,
      HTTP_PORT: httpPort ?? "",
      ADS_TLS_CERT: file("controlPlane", "tls.crt"),
      ADS_TLS_KEY: file("controlPlane", "tls.key"),
      ADS_TLS_CLIENT_CACERT: file("controlPlane", "ca.crt"),
      ADS_FLEET_FROM_CERTIFICATE: "true",
      ADS_REPORT_SANS: operatorUri(NAMING),
    });
    run("ratelimit/src/main.ts", {
      BACKEND_TYPE: "memory",
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_URL: `localhost:${relayPort}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: "weir-control-plane.weir-system.svc",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: file("pod", "ca.crt"),
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: file("pod", "core.crt"),
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: file("pod", "core.key"),
      CONFIG_GRPC_XDS_NODE_ID: "pod-1",
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "100ms",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "100ms",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "500ms",
      HOST,
      PORT: podHttpPort ?? "",
      GRPC_HOST: HOST,
      GRPC_PORT: grpcPort ?? "",
      DEBUG_HOST: HOST,
      DEBUG_PORT: debugPort ?? "",
      USE_PUSHSTATS: "false",
      PULLSTATS_ADDR: `${HOST}:${metricsPort}`,
    });
  });

  afterAll(async () => {
    for (const each of processes) await each.end();
    for (const socket of sockets) socket.destroy();
    relay.close();
    folder.remove();
  });

  /** Of a bundle only the authority that signs now. */
  function firstAuthorityOnly(name: string, text: string): string {
    return name === "ca.crt" ? `${text.split(/(?<=-----END CERTIFICATE-----\n)/)[0]}` : text;
  }

  /** Waits until the control plane has read its files again; a pod reads them for each connection. */
  async function expectReload(times: number): Promise<void> {
    await eventually(`${times} reloads; ${outputs()}`, () => {
      const reloads = processes[0]?.text().match(/Reloaded TLS files/g) ?? [];
      expect(reloads.length).toBeGreaterThanOrEqual(times);
    });
  }

  it("begins with the first authority", async () => {
    await expectEdit();
    await expectConnection();
  });

  it("continues when the next authority is in the bundle of the control plane, then of the pod", async () => {
    deliver("controlPlane");
    await expectReload(1);
    await expectConnection();
    deliver("pod");
    await expectConnection();
  });

  it("continues when the next authority signs, first that of the control plane, then that of the pod", async () => {
    await pass(); // Sees the next authority in every Secret.
    nowMs = realMs - 2 * HOUR_MS;
    const before = objects.dataOf(SECRETS, PLACES.pod)?.["core.crt"];
    await pass();
    expect(objects.dataOf(SECRETS, PLACES.pod)?.["core.crt"]).not.toBe(before);
    deliver("controlPlane");
    await expectReload(2);
    await expectConnection();
    deliver("pod");
    await expectConnection();
  });

  it("continues when the first authority is gone, which shows that the new certificates are in use", async () => {
    deliver("controlPlane", firstAuthorityOnly);
    deliver("pod", firstAuthorityOnly);
    await expectReload(3);
    await expectConnection();
    for (const each of processes) expect(each.isRunning()).toBe(true);
  });
});
