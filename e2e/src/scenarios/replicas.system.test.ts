// Two replicas of the real control plane over the same manifests: they serve the same whatever their
// history and clocks, and when one is killed its pods lose nothing.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { type Replica, type Rollout, startReplica } from "@weir/harness/weir/replica";
import { limitsIn } from "@weir/harness/ads/pod-end";
import { ACK, ScriptedPod, tlsOf } from "@weir/harness/ads/scripted-pod";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";

/**
 * How far the second replica's clock is behind, in milliseconds: more than a day, so that no part
 * of a date is the same.
 */
const SKEW_MS = 26 * 3_600_000;

/** Streams that are open when a replica is killed. */
const PODS = 50;

/**
 * Longest wait of the first pod beyond its own back-off and the time in which all pods connected at
 * first, in milliseconds: they all connect at the same time, on a busy test machine.
 */
const OVERRUN_MAX_MS = 10_000;

describe("two replicas of the control plane", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const replicas: Replica[] = [];
  const pods: ScriptedPod[] = [];
  let certificates: DevelopmentCertificates;
  let first: Replica;
  let second: Replica;

  beforeAll(async () => {
    mkdirSync(manifests);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    for (let index = 0; index < 40; index++) save(`limits-${index}`, `domain-${index}`, 1);
    // Of two resources of one age with the same domain, the first by name owns it. The first replica
    // read the other one alone.
    save("contest-z", "contest", 1);
    first = await launch({});
    const pod = connect("gold/early", [first]);
    await pod.response(1);
    save("contest-a", "contest", 2);
    save("limits-3", "domain-3", 5);
    await eventually("the first replica to serve the changes", () =>
      expect(limitsIn(pod.last)).toMatchObject({ "contest-a": 2, "limits-3": 5 }),
    );
    const preload = join(folder.path, "skewed-clock.mjs");
    writeFileSync(preload, skewedClock(SKEW_MS));
    second = await launch({ NODE_OPTIONS: `--import=${preload}` });
  });

  afterAll(async () => {
    for (const pod of pods) pod.close();
    for (const replica of replicas) await replica.process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("send the same bytes under the same version, though one has seen changes and the clock of the other is a day behind", async () => {
    const behindMs = Date.parse((await first.rollout()).observedAt) - Date.parse((await second.rollout()).observedAt);
    expect(Math.abs(behindMs - SKEW_MS)).toBeLessThan(60_000);
    await expectSame("gold/same");
    const [ofFirst, ofSecond] = [await first.rollout(), await second.rollout()];
    expect(versionsOf(ofSecond)).toEqual(versionsOf(ofFirst));
    const loser = { name: "contest-z", state: "RESOURCE_STATE_REFUSED", reason: "DomainConflict" };
    for (const { resources } of [ofFirst, ofSecond])
      expect(resources.find(({ name }) => name === loser.name)).toMatchObject(loser);
  });

  it("send the same after a change that both have seen", async () => {
    save("limits-9", "domain-9", 77);
    for (const replica of [first, second]) {
      const pod = connect("gold/after", [replica]);
      await eventually("the change", () => expect(limitsIn(pod.last)).toMatchObject({ "limits-9": 77 }));
    }
    await expectSame("gold/after-change");
  });

  it("serve every pod of a killed replica soon after its own back-off, with a change from that moment", async () => {
    const beganMs = performance.now();
    const fleet = Array.from({ length: PODS }, (_, index) => connect(`gold/pod-${index}`, [first, second]));
    for (const pod of fleet) await pod.response(1);
    const connectMs = performance.now() - beganMs;
    const before = fleet[0]!.last.versionInfo;
    save("limits-11", "domain-11", 1234);
    const killedMs = performance.now();
    first.process.kill();
    await first.process.exited;
    for (const pod of fleet) {
      await eventually(`${pod.nodeId} to have the change`, () =>
        expect(limitsIn(pod.last)).toMatchObject({ "limits-11": 1234 }),
      );
    }
    const [after] = fleet.map(({ last }) => last.versionInfo);
    for (const pod of fleet) {
      // One stream with the first replica, one with the second, and on both nothing but the old set
      // and the new one, in that order.
      expect(pod.losses, pod.nodeId).toBe(1);
      expect(
        [
          [before, after],
          [before, before, after],
        ],
        pod.nodeId,
      ).toContainEqual(pod.responses.map(({ versionInfo }) => versionInfo));
      expect(Object.keys(limitsIn(pod.last)), pod.nodeId).toHaveLength(41);
    }
    const quickestMs = Math.min(...fleet.map(({ servedAgainMs, backoffMs }) => servedAgainMs - killedMs - backoffMs));
    expect(quickestMs).toBeLessThan(connectMs + OVERRUN_MAX_MS);
    await eventually("the second replica to report all ACKs", async () => {
      const gold = (await second.rollout()).fleets.find(({ version }) => version === after);
      expect(gold?.pods).toMatchObject({ total: podsOf(second), accepted: podsOf(second) });
    });
  });

  it("send the same again when the killed replica restarts", async () => {
    first = await launch({});
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
    // The bytes, not the messages: one message has many encodings.
    expect(ofSecond.resources.map(({ value }) => Buffer.from(value).toString("hex"))).toEqual(
      ofFirst.resources.map(({ value }) => Buffer.from(value).toString("hex")),
    );
  }

  function connect(nodeId: string, to: readonly Replica[]): ScriptedPod {
    const ports = to.map(({ adsPort }) => adsPort);
    const pod = new ScriptedPod(ports, { nodeId, tls: tlsOf(certificates), answer: ACK });
    pods.push(pod);
    return pod;
  }

  function save(name: string, domain: string, requestsPerUnit: number): void {
    saveManifest(
      manifests,
      `${name}.yaml`,
      manifestOf(name, domain, [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }]),
    );
  }

  async function launch(env: Readonly<Record<string, string>>): Promise<Replica> {
    const replica = await startReplica({ certificates, manifests }, env);
    replicas.push(replica);
    return replica;
  }
});

function versionsOf({ fleets }: Rollout): Readonly<Record<string, string>> {
  return Object.fromEntries(fleets.map(({ name, version }) => [name, version]));
}

/** A module that sets back the clock of the process that loads it, as on a machine with a wrong clock. */
function skewedClock(behindMs: number): string {
  return `const Right = Date;
globalThis.Date = class extends Right {
  constructor(...parts) { if (parts.length === 0) super(Right.now() - ${behindMs}); else super(...parts); }
  static now() { return Right.now() - ${behindMs}; }
};
`;
}
