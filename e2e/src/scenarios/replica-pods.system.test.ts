// Real pods of two replicas behind one address, as with a Service: a replica is killed, restarts, and the
// other is shut down. Every request meanwhile has its limit, and an edit at that moment arrives.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";

const POD_IDS = ["edge/one", "edge/two", "edge/three"] as const;

/**
 * Longest wait for a change after a replica is gone, in milliseconds: the back-off of these pods is
 * two seconds at most, every other connection goes to the dead replica, and the machine may be
 * busy.
 */
const ARRIVAL_MS = 60_000;

/** Longest time until a process that hangs is noticed, and its pods are elsewhere, in milliseconds. */
const NOTICED_MS = 15_000;

/** How long a replica continues after SIGTERM while it ends its streams one after the other. */
const DRAIN = "2s";

describe.each(["GRPC_XDS_SOTW", "GRPC_XDS_DELTA"])("real pods of %s behind one address of two replicas", (type) => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const started: Replica[] = [];
  const pods: Pod[] = [];
  let certificates: DevelopmentCertificates;
  let first: Replica;
  let second: Replica;
  let address: CuttingProxy;

  beforeAll(async () => {
    mkdirSync(manifests);
    save(2);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    first = await launch();
    second = await launch();
    address = await startCuttingProxy(first.adsPort, second.adsPort);
    for (const id of POD_IDS) {
      const env = {
        CONFIG_TYPE: type,
        CONFIG_GRPC_XDS_NODE_ID: id,
        CONFIG_GRPC_XDS_SERVER_URL: `localhost:${address.port}`,
      };
      pods.push(await startPod({ ports: first.ports, certificates }, env));
    }
  });

  afterAll(async () => {
    for (const { process } of pods) await process.stop("SIGTERM", 5000);
    await address.close();
    for (const { process } of started) await process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("connect to both, and ACK one version", async () => {
    await eventually("the ACK of every pod", async () => {
      const versions = [...(await ackedBy(first)), ...(await ackedBy(second))];
      expect(versions).toHaveLength(POD_IDS.length);
      expect(new Set(versions)).toHaveLength(1);
    });
    for (const replica of [first, second]) expect(await ackedBy(replica)).not.toEqual([]);
  });

  it("keep limits and counts when their replica is killed, and enforce an edit at that moment", async () => {
    for (const pod of pods) expect(await spend(pod)).toEqual([200, 200, 429]);
    const questions = pods.map((pod) => pod.keepAsking("mail"));
    first.process.kill();
    save(4);
    await first.process.exited;
    await expectLimit(4);
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(["2 → 4", "2 → 4", "2 → 4"]);
    // Three of four were counted before; a pod that had lost its counters would let four through.
    for (const pod of pods) expect(await spend(pod)).toEqual([200, 429, 429]);
    await expectAllCurrent(second);
  });

  it("lose nothing when the killed replica restarts and the other is shut down", async () => {
    first = await launch(first);
    const questions = pods.map((pod) => pod.keepAsking("mail"));
    const stopping = second.process.stop("SIGTERM", 60_000);
    save(6);
    expect(await stopping).toEqual({ code: 0, signal: null });
    await expectLimit(6);
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(["4 → 6", "4 → 6", "4 → 6"]);
    await expectAllCurrent(first);
  });

  it("leave the report within 15 s when they hang, keep their limits, and come back", async () => {
    const [pod] = pods;
    await pod!.process.pause();
    try {
      await eventually(
        "the report without the pod",
        async () => expect(await ackedBy(first)).toHaveLength(POD_IDS.length - 1),
        NOTICED_MS,
      );
    } finally {
      pod!.process.resume();
    }
    expect(await pod!.limitOf("mail", { user: "probe" })).toBe(6);
    await expectAllCurrent(first);
  });

  it("are connected to another replica within 15 s when theirs hangs, if its name has all addresses", async () => {
    second = await launch(second);
    const env = {
      CONFIG_GRPC_XDS_NODE_ID: "edge/four",
      CONFIG_GRPC_XDS_SERVER_URL: `ipv4:127.0.0.1:${first.adsPort},127.0.0.1:${second.adsPort}`,
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: "localhost",
    };
    pods.push(await startPod({ ports: first.ports, certificates }, env));
    const names = async (replica: Replica): Promise<readonly string[]> =>
      ((await replica.rollout()).pods ?? []).map(({ nodeId }) => nodeId);
    await eventually("the pod", async () =>
      expect([...(await names(first)), ...(await names(second))]).toContain("edge/four"),
    );
    const [its, other] = (await names(first)).includes("edge/four") ? [first, second] : [second, first];
    await its.process.pause();
    try {
      await eventually(
        "the pod at the other replica",
        async () => expect(await names(other)).toContain("edge/four"),
        NOTICED_MS,
      );
    } finally {
      its.process.resume();
    }
  });

  async function launch(before?: Replica): Promise<Replica> {
    const place = { certificates, manifests, ...(before === undefined ? {} : { ports: before.ports }) };
    const replica = await startReplica(place, { SHUTDOWN_DRAIN: DRAIN, SHUTDOWN_GRACE: "5s" });
    started.push(replica);
    return replica;
  }

  function save(requestsPerUnit: number): void {
    saveManifest(
      manifests,
      "mail.yaml",
      manifestOf("mail", "mail", [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]),
    );
  }

  async function spend(pod: Pod): Promise<readonly number[]> {
    const statuses: number[] = [];
    for (let request = 0; request < 3; request += 1) statuses.push(await pod.ask("mail", { user: "spender" }));
    return statuses;
  }

  async function expectLimit(limit: number): Promise<void> {
    for (const pod of pods) {
      await eventually(
        `the limit ${limit}`,
        async () => expect(await pod.limitOf("mail", { user: "probe" })).toBe(limit),
        ARRIVAL_MS,
      );
    }
  }

  /** The versions that the pods of this replica ACKed. */
  async function ackedBy(replica: Replica): Promise<readonly string[]> {
    const { pods: connected = [] } = await replica.rollout();
    return connected.map(({ accepted }) => accepted?.version ?? "none");
  }

  async function expectAllCurrent(replica: Replica): Promise<void> {
    await eventually("the replica to report that every pod ACKed the active version", async () => {
      const { pods: connected = [] } = await replica.rollout();
      expect(connected.map(({ nodeId, state }) => `${nodeId} ${state}`).toSorted()).toEqual(
        POD_IDS.map((id) => `${id} POD_STATE_ACCEPTED`).toSorted(),
      );
    });
  }
});
