// Every replica restarts while resources are invalid: with STATE_DIRECTORY each has their last good revisions,
// and real pods keep every limit.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";

/** Longest wait for an edit, in milliseconds: pods reconnect within two seconds, on a busy machine. */
const ARRIVAL_MS = 40_000;

describe("two replicas with a STATE_DIRECTORY each", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const pods: Pod[] = [];
  let certificates: DevelopmentCertificates;
  let replicas: readonly Replica[] = [];
  let address: CuttingProxy;

  beforeAll(async () => {
    mkdirSync(manifests);
    for (const name of ["mail", "search", "other"]) save(name, 2);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    replicas = await Promise.all([launch(0), launch(1)]);
    address = await startCuttingProxy(replicas[0]!.adsPort, replicas[1]!.adsPort);
    for (const id of ["edge/one", "edge/two"]) pods.push(await connect(id));
    // One is invalid, the other one no YAML.
    saveManifest(manifests, "mail.yaml", manifest("mail", 9).replace("unit: year", "unit: fortnight"));
    saveManifest(manifests, "search.yaml", "apiVersion: [unclosed\n");
    for (const replica of replicas) await expectLastGood(replica);
  });

  afterAll(async () => {
    for (const { process } of [...pods, ...replicas]) await process.stop("SIGTERM", 5000);
    await address.close();
    folder.remove();
  });

  it("serve the last good revisions after both were killed, to old pods and a new one", async () => {
    const questions = pods.flatMap((pod) => ["mail", "search"].map((domain) => pod.keepAsking(domain)));
    for (const { process } of replicas) process.kill();
    await Promise.all(replicas.map(({ process }) => process.exited));
    replicas = await Promise.all([launch(0), launch(1)]);
    for (const replica of replicas) await expectLastGood(replica);
    pods.push(await connect("edge/three"));
    save("other", 3);
    await expectLimits({ mail: 2, search: 2, other: 3 });
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(["2", "2", "2", "2"]);
  });

  it("serve them after both were shut down, and the current revisions when these are fixed", async () => {
    const questions = pods.flatMap((pod) => ["mail", "search"].map((domain) => pod.keepAsking(domain)));
    await Promise.all(replicas.map(({ process }) => process.stop("SIGTERM", 10_000)));
    replicas = await Promise.all([launch(0), launch(1)]);
    save("other", 4);
    await expectLimits({ mail: 2, search: 2, other: 4 });
    save("mail", 5);
    save("search", 6);
    await expectLimits({ mail: 5, search: 6, other: 4 });
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(pods.flatMap(() => ["2 → 5", "2 → 6"]));
    for (const replica of replicas)
      await eventually("the end of the reports", async () => expect((await replica.status()).troubles).toEqual([]));
  });

  /** Starts a replica with its own STATE_DIRECTORY, at its old ports if it had some. */
  function launch(index: number): Promise<Replica> {
    const ports = replicas[index]?.ports;
    const place = { certificates, manifests, ...(ports === undefined ? {} : { ports }) };
    return startReplica(place, { STATE_DIRECTORY: join(folder.path, `state-${index}`) });
  }

  function connect(nodeId: string): Promise<Pod> {
    const env = { CONFIG_GRPC_XDS_NODE_ID: nodeId, CONFIG_GRPC_XDS_SERVER_URL: `localhost:${address.port}` };
    return startPod({ ports: replicas[0]!.ports, certificates }, env);
  }

  function save(name: string, requestsPerUnit: number): void {
    saveManifest(manifests, `${name}.yaml`, manifest(name, requestsPerUnit));
  }

  /** Waits until a replica reports both mistakes, and that it serves the last good revisions. */
  async function expectLastGood(replica: Replica): Promise<void> {
    await eventually("the report of the mistakes", async () => {
      const { troubles } = await replica.status();
      // A file that is no YAML is in the report by itself and with its last good resource.
      const files = new Set(
        troubles.map(({ file, keepsOld }) => `${file.slice(file.lastIndexOf("/") + 1)} ${keepsOld}`),
      );
      expect([...files].toSorted()).toEqual(["mail.yaml true", "search.yaml true"]);
    });
  }

  async function expectLimits(limits: Readonly<Record<string, number>>): Promise<void> {
    for (const pod of pods) {
      for (const [domain, limit] of Object.entries(limits)) {
        await eventually(
          `the limit ${limit} of ${domain}`,
          async () => expect(await pod.limitOf(domain, { user: "probe" })).toBe(limit),
          ARRIVAL_MS,
        );
      }
    }
  }
});

function manifest(name: string, requestsPerUnit: number): string {
  return manifestOf(name, name, [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]);
}
