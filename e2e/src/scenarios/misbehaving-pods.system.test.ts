// Scripted pods that NACK everything or never answer, in one fleet with a real one: the real one receives
// every edit, and reports name the pods that do not follow.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { type Answer, cannotLoad, ScriptedPod, tlsOf } from "@weir/harness/ads/scripted-pod";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";

/** An edit should arrive within a second; the rest is for a busy test machine. */
const EDIT_TIMEOUT_MS = 12_000;

/** The domains; each is limited by a resource of its own. */
const DOMAINS = ["mail", "search"] as const;

/** The answers of each misbehaving pod. A set without resources is ACKed: it holds nothing to name. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "edge/never-answers": () => undefined,
  "edge/nacks-by-name": cannotLoad(() => true, "no such unit"),
  "edge/nacks-without-name": () => "out of memory",
};

describe("pods that NACK everything or never answer", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const others: ScriptedPod[] = [];
  let certificates: DevelopmentCertificates;
  let replica: Replica;
  let pod: Pod;

  beforeAll(async () => {
    mkdirSync(manifests);
    for (const domain of DOMAINS) save(domain, 1);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    replica = await startReplica({ certificates, manifests });
    // The others connect and answer first.
    for (const [nodeId, answer] of Object.entries(ANSWERS)) {
      others.push(new ScriptedPod(replica.adsPort, { nodeId, tls: tlsOf(certificates), answer }));
    }
    for (const other of others) await other.response(1);
    pod = await startPod({ ports: replica.ports, certificates }, { CONFIG_GRPC_XDS_NODE_ID: "edge/correct" });
  });

  afterAll(async () => {
    for (const other of others) other.close();
    await pod.process.stop("SIGTERM", 5000);
    await replica.process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("keep nothing from a correct pod, though they connect first, and count with each resource", async () => {
    for (const domain of DOMAINS) await expectLimit(domain, 1);
    await eventually("the counts of all pods", async () => {
      const { resources } = await replica.rollout();
      const counted = { total: 4, accepted: 1, rejected: 2, pending: 1 };
      expect(resources.map(({ name, state, pods }) => [name, state, pods])).toEqual([
        ["mail", "RESOURCE_STATE_QUARANTINED", counted],
        ["search", "RESOURCE_STATE_QUARANTINED", counted],
      ]);
    });
  });

  it("do not delay edits, and are sent each edit once", async () => {
    const before = others.map(({ responses }) => responses.length);
    for (let edit = 2; edit <= 6; edit += 1) {
      for (const domain of DOMAINS) {
        save(domain, edit);
        await expectLimit(domain, edit, EDIT_TIMEOUT_MS);
        await expectStates(domain);
      }
    }
    await eventually("the last edit to be sent", () =>
      expect(others.map(({ responses }, index) => responses.length - before[index]!)).toEqual([10, 10, 10]),
    );
  });

  it("change nothing for a correct pod when all of them reconnect after a restart", async () => {
    const questions = pod.keepAsking("mail");
    replica.process.kill();
    await replica.process.exited;
    replica = await startReplica({ certificates, manifests, ports: replica.ports });
    await expectStates("search"); // The resource that the new stream brings last.
    save("mail", 9);
    await expectLimit("mail", 9);
    expect(await questions.end()).toBe("6 → 9");
    await expectLimit("search", 6);
    await expectStates("mail");
  });

  function save(domain: string, requestsPerUnit: number): void {
    saveManifest(
      manifests,
      `${domain}.yaml`,
      manifestOf(domain, domain, [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]),
    );
  }

  /** Waits for the answers of all pods to an edit of this domain. */
  async function expectStates(edited: (typeof DOMAINS)[number]): Promise<void> {
    await eventually("the states of all pods", async () => {
      const { pods = [] } = await replica.rollout();
      expect(pods.map(({ nodeId, state, rejection }) => [nodeId, state, rejection])).toEqual([
        ["edge/correct", "POD_STATE_ACCEPTED", undefined],
        ["edge/nacks-by-name", "POD_STATE_REJECTED", `default/${edited}: no such unit`],
        ["edge/nacks-without-name", "POD_STATE_REJECTED", "out of memory"],
        ["edge/never-answers", "POD_STATE_PENDING", undefined],
      ]);
    });
  }

  async function expectLimit(domain: string, limit: number, withinMs?: number): Promise<void> {
    const what = `the limit ${limit} of ${domain}`;
    await eventually(what, async () => expect(await pod.limitOf(domain, { user: "probe" })).toBe(limit), withinMs);
  }
});
