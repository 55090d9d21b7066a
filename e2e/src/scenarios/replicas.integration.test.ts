// Two replicas of the real control plane over the same manifests: they agree whatever each has lived through and whatever its clock says, and when one is
// killed its pods lose nothing. How fast that goes is measured by the benchmark of the control plane, not here.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary } from "@bufbuild/protobuf";
import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import type { DiscoveryRequest, DiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/rate-limit-config/type-url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/testing/eventually";
import { anyPorts, manifestOf, startPlanned } from "../parts/flow.ts";
import { makeTemporaryFolder } from "../parts/temporary-folder.ts";
import { type DevelopmentCertificates, ensureCertificates } from "../stack/certificates.ts";
import { STACK_HOST } from "../stack/ports.ts";
import type { ProcessGroup } from "../stack/process-group.ts";
import { planPrograms } from "../stack/programs.ts";

/** How far the second replica's clock is behind, in milliseconds: more than a day, so that no part of a date is the same. */
const SKEW_MS = 26 * 3_600_000;

/** Streams that are open when a replica is killed. */
const PODS = 50;

/** Shortest and longest back-off of a pod that has lost its stream, in milliseconds. */
const BACKOFF_MS = { shortest: 100, longest: 500 } as const;

/** What a pod may wait beyond its own back-off, in milliseconds. The promise is a second; two more are left to a busy test machine. */
const OVERRUN_MAX_MS = 3000;

/** A replica. */
interface Replica {
  readonly adsPort: number;
  readonly process: ProcessGroup;
  rollout(): Promise<Rollout>;
}

/** What is read of the rollout API. */
interface Rollout {
  readonly observedAt: string;
  readonly fleets: readonly { readonly name: string; readonly version: string; readonly pods?: { total?: number; accepted?: number } }[];
  readonly resources: readonly { readonly name: string; readonly state: string; readonly reason?: string }[];
}

describe("two replicas of the control plane", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const replicas: Replica[] = [];
  const pods: StreamPod[] = [];
  let certificates: DevelopmentCertificates;
  let first: Replica;
  let second: Replica;

  beforeAll(async () => {
    mkdirSync(manifests);
    certificates = await ensureCertificates(join(folder.path, "certificates"), { hostNames: ["localhost"], now: new Date() });
    for (let index = 0; index < 40; index++) save(`limits-${index}`, `domain-${index}`, 1);
    // Where two want the same domain, the first name in order has it, whoever was seen first: the first replica saw the loser alone.
    save("contest-z", "contest", 1);
    first = await startReplica({});
    const pod = connect("gold/early", [first]);
    await pod.response(1);
    save("contest-a", "contest", 2);
    save("limits-3", "domain-3", 5);
    await eventually("the first replica to serve what was changed", () =>
      expect(limits(pod)).toMatchObject({ "contest-a": 2, "limits-3": 5 }),
    );
    const preload = join(folder.path, "skewed-clock.mjs");
    writeFileSync(preload, skewedClock(SKEW_MS));
    second = await startReplica({ NODE_OPTIONS: `--import=${preload}` });
  });

  afterAll(async () => {
    for (const pod of pods) pod.close();
    for (const replica of replicas) await replica.process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("send the same bytes under the same version, though one has lived through changes and the clock of the other is a day behind", async () => {
    const behindMs = Date.parse((await first.rollout()).observedAt) - Date.parse((await second.rollout()).observedAt);
    expect(Math.abs(behindMs - SKEW_MS)).toBeLessThan(60_000);
    await expectSame("gold/same");
    const [ofFirst, ofSecond] = [await first.rollout(), await second.rollout()];
    expect(versionsOf(ofSecond)).toEqual(versionsOf(ofFirst));
    const loser = { name: "contest-z", state: "RESOURCE_STATE_REFUSED", reason: "DomainConflict" };
    for (const { resources } of [ofFirst, ofSecond]) expect(resources.find(({ name }) => name === loser.name)).toMatchObject(loser);
  });

  it("send the same after a change that both have seen", async () => {
    save("limits-9", "domain-9", 77);
    for (const replica of [first, second]) {
      const pod = connect("gold/after", [replica]);
      await eventually("the change", () => expect(limits(pod)).toMatchObject({ "limits-9": 77 }));
    }
    await expectSame("gold/after-change");
  });

  it("serve every pod of a killed replica within its own back-off and a moment, with the change of that very moment", async () => {
    const fleet = Array.from({ length: PODS }, (_, index) => connect(`gold/pod-${index}`, [first, second]));
    for (const pod of fleet) await pod.response(1);
    const before = fleet[0]!.last.versionInfo;
    save("limits-11", "domain-11", 1234);
    const killedMs = performance.now();
    first.process.kill();
    await first.process.exited;
    for (const pod of fleet) {
      await eventually(`${pod.nodeId} to have the change`, () => expect(limits(pod)).toMatchObject({ "limits-11": 1234 }));
    }
    const [after] = fleet.map(({ last }) => last.versionInfo);
    for (const pod of fleet) {
      // One stream with the first replica, one with the second, and from neither anything but the old set and the new one, in that order.
      expect(pod.losses, pod.nodeId).toBe(1);
      expect(
        [
          [before, after],
          [before, before, after],
        ],
        pod.nodeId,
      ).toContainEqual(pod.responses.map(({ versionInfo }) => versionInfo));
      expect(pod.servedAgainMs - killedMs - pod.backoffMs, pod.nodeId).toBeLessThan(OVERRUN_MAX_MS);
      expect(Object.keys(limits(pod)), pod.nodeId).toHaveLength(41);
    }
    await eventually("the second replica to know that all of them have accepted it", async () => {
      const gold = (await second.rollout()).fleets.find(({ version }) => version === after);
      expect(gold?.pods).toMatchObject({ total: podsOf(second), accepted: podsOf(second) });
    });
  });

  it("agree again when the killed one is back", async () => {
    first = await startReplica({});
    await expectSame("gold/back");
  });

  /** Pods whose stream is with this replica now. */
  function podsOf(replica: Replica): number {
    return pods.filter(({ port }) => port === replica.adsPort).length;
  }

  async function expectSame(nodeId: string): Promise<void> {
    const [left, right] = [connect(nodeId, [first]), connect(nodeId, [second])];
    const [ofFirst, ofSecond] = [await left.response(1), await right.response(1)];
    expect(ofSecond.versionInfo).toBe(ofFirst.versionInfo);
    expect(ofFirst.resources).toHaveLength(41);
    // Bytes, not what they mean: the same meaning has many encodings.
    expect(ofSecond.resources.map(({ value }) => Buffer.from(value).toString("hex"))).toEqual(
      ofFirst.resources.map(({ value }) => Buffer.from(value).toString("hex")),
    );
  }

  function connect(nodeId: string, to: readonly Replica[]): StreamPod {
    const pod = new StreamPod(
      nodeId,
      to.map(({ adsPort }) => adsPort),
      certificates,
    );
    pods.push(pod);
    return pod;
  }

  function save(name: string, domain: string, requestsPerUnit: number): void {
    const path = join(manifests, `${name}.yaml`);
    writeFileSync(`${path}.new`, manifestOf(name, domain, [{ key: "user", rateLimit: { unit: "day", requestsPerUnit } }]));
    renameSync(`${path}.new`, path);
  }

  async function startReplica(env: Readonly<Record<string, string>>): Promise<Replica> {
    const ports = await anyPorts();
    const place = { ports, certificates, sourceDirectory: manifests, accountDirectory: folder.path };

    const plan = planPrograms({ ...place, machine: process.env }).controlPlane;
    const url = `http://${STACK_HOST}:${ports.controlPlaneHttp}/weir.rollout.v1.RolloutService/GetRollout`;
    const replica: Replica = {
      adsPort: ports.ads,
      process: await startPlanned({ ...plan, env: { ...plan.env, ...env } }),
      rollout: async () => {
        const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
        return ((await response.json()) as { readonly rollout: Rollout }).rollout;
      },
    };
    replicas.push(replica);
    return replica;
  }
});

/** A real gRPC client in the part of a pod: accepts everything, and after the end of its stream waits and goes on to the next replica. */
class StreamPod {
  readonly nodeId: string;
  readonly responses: DiscoveryResponse[] = [];
  losses = 0;
  /** What it waited after the last loss, in milliseconds. */
  backoffMs = 0;
  /** When the first response after the last loss came. */
  servedAgainMs = 0;
  readonly #ports: readonly number[];
  readonly #certificates: DevelopmentCertificates;
  #client: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(nodeId: string, ports: readonly number[], certificates: DevelopmentCertificates) {
    this.nodeId = nodeId;
    this.#ports = ports;
    this.#certificates = certificates;
    this.#open();
  }

  /** The replica it is with, or goes to next. */
  get port(): number {
    return this.#isClosed ? 0 : this.#ports[this.losses % this.#ports.length]!;
  }

  get last(): DiscoveryResponse {
    const response = this.responses.at(-1);
    if (response === undefined) throw new Error(`${this.nodeId} was sent nothing`);
    return response;
  }

  /** Resolves with the response of this number, counted from 1. */
  response(count: number): Promise<DiscoveryResponse> {
    return eventually(`response ${count} of ${this.nodeId}`, () => {
      const response = this.responses[count - 1];
      if (response === undefined) throw new Error(`there are ${this.responses.length}`);
      return response;
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.close();
  }

  #open(): void {
    const { ca, rateLimit } = this.#certificates;
    const [root, key, cert] = [ca.cert, rateLimit.key, rateLimit.cert].map((path) => readFileSync(path));
    const client = new Client(`localhost:${this.port}`, credentials.createSsl(root, key, cert), {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
    });
    this.#client = client;
    const { path, requestSerialize, responseDeserialize } = serviceDefinition(AggregatedDiscoveryService).streamAggregatedResources;
    const stream: ClientDuplexStream<DiscoveryRequest, DiscoveryResponse> = client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
    );
    let isServed = false;
    stream.on("data", (response: DiscoveryResponse) => {
      if (!isServed) this.servedAgainMs = performance.now();
      isServed = true;
      this.responses.push(response);
      stream.write(request({ versionInfo: response.versionInfo, responseNonce: response.nonce }));
    });
    stream.on("error", () => undefined); // The status says it.
    stream.on("status", () => this.#lost(client));
    stream.write(request({ node: { id: this.nodeId }, versionInfo: this.responses.at(-1)?.versionInfo ?? "" }));
  }

  #lost(client: Client): void {
    client.close();
    if (this.#isClosed) return;
    this.losses += 1;
    const { shortest, longest } = BACKOFF_MS;
    this.backoffMs = shortest + Math.random() * (longest - shortest);
    this.#timer = setTimeout(() => this.#open(), this.backoffMs);
  }
}

function request(fields: {
  readonly versionInfo: string;
  readonly responseNonce?: string;
  readonly node?: { readonly id: string };
}): DiscoveryRequest {
  return create(DiscoveryRequestSchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, ...fields });
}

/** The limit of each resource that the pod has, by name without namespace. */
function limits(pod: StreamPod): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    pod.last.resources.map(({ value }) => {
      const { name, descriptors } = fromBinary(RateLimitConfigSchema, value);
      return [name.slice(name.indexOf("/") + 1), descriptors[0]?.rateLimit?.requestsPerUnit] as const;
    }),
  );
}

function versionsOf({ fleets }: Rollout): Readonly<Record<string, string>> {
  return Object.fromEntries(fleets.map(({ name, version }) => [name, version]));
}

/** A module that puts the clock of the process that loads it back, as a machine with a wrong clock would have it. */
function skewedClock(behindMs: number): string {
  return `const Right = Date;
globalThis.Date = class extends Right {
  constructor(...parts) { if (parts.length === 0) super(Right.now() - ${behindMs}); else super(...parts); }
  static now() { return Right.now() - ${behindMs}; }
};
`;
}
