// A rolling restart of the control plane while each replica serves pods of another image: no pod loses a
// limit when it connects to the other replica.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { type Replica, startReplica } from "@weir/harness/weir/replica";
import { limitsIn } from "@weir/harness/ads/pod-end";
import { ACK, answerOfOldImage, ScriptedPod, tlsOf } from "@weir/harness/ads/scripted-pod";

describe("two replicas, one with new pods and one with old ones", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const replicas: Replica[] = [];
  let certificates: DevelopmentCertificates;
  let current: ScriptedPod;
  let old: ScriptedPod;

  beforeAll(async () => {
    mkdirSync(manifests);
    save("mail", 1);
    save("search", 1);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    for (const index of [0, 1]) await launch(index);
    const ports = replicas.map(({ adsPort }) => adsPort);
    const tls = tlsOf(certificates);
    current = new ScriptedPod(ports, { nodeId: "edge/new", tls, answer: ACK });
    old = new ScriptedPod(ports.toReversed(), { nodeId: "edge/old", tls, answer: answerOfOldImage });
    await expectAcked(current, { mail: 1, search: 1 });
    await expectAcked(old, { mail: 1, search: 1 });
    save("search", 2, "week"); // A unit that the old image cannot load.
    await expectAcked(current, { mail: 1, search: 2 });
    await eventually("the NACK", () => expect(old.responses).toHaveLength(2));
  });

  afterAll(async () => {
    for (const pod of [current, old]) pod.close();
    for (const { process } of replicas) await process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it.each([
    { index: 0, mail: 2 },
    { index: 1, mail: 3 },
    { index: 0, mail: 4 },
  ])("keep every limit of both when replica $index restarts", async ({ index, mail }) => {
    await replicas[index]!.process.stop("SIGTERM", 5000);
    save("mail", mail);
    await expectAcked(current, { mail, search: 2 });
    await expectAcked(old, { mail, search: 1 });
    await launch(index);
    for (const pod of [current, old])
      for (const response of pod.acked) expect(Object.keys(limitsIn(response))).toEqual(["mail", "search"]);
  });

  /** Starts a replica with its own STATE_DIRECTORY, at its old ports if it had some. */
  async function launch(index: number): Promise<void> {
    const ports = replicas[index]?.ports;
    const place = { certificates, manifests, ...(ports === undefined ? {} : { ports }) };
    replicas[index] = await startReplica(place, { STATE_DIRECTORY: join(folder.path, `state-${index}`) });
  }

  function save(name: string, requestsPerUnit: number, unit = "day"): void {
    const rule = { key: "user", rateLimit: { unit, requestsPerUnit } };
    saveManifest(manifests, `${name}.yaml`, manifestOf(name, name, [rule]));
  }

  async function expectAcked(pod: ScriptedPod, limits: Readonly<Record<string, number>>): Promise<void> {
    await eventually(`the ACK of ${pod.nodeId}`, () => expect(limitsIn(pod.acked.at(-1)!)).toEqual(limits), 10_000);
  }
});
