// Last good revisions outlive every process: an invalid edit, then control plane and pods are started again.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { revisionOf } from "@weir/crds/rate-limit-config-revision/revision";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LimitsCluster, startLimitsCluster } from "@weir/harness/kubernetes/limits-cluster";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Pod } from "@weir/harness/weir/pod";
import { limitManifest, manifestOf, startWeir, type Weir } from "@weir/harness/weir/weir";
import { ROOT } from "@weir/harness/processes/programs";

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

/** The user whose limit is looked up. */
const PROBE = { user: "probe" };

describe("last good revisions", () => {
  const folder = makeTemporaryFolder();
  let limits: LimitsCluster;
  let flow: Weir;
  let pod: Pod;

  beforeAll(async () => {
    limits = await startLimitsCluster();
    // By the manager that changes it in tests: an apply removes no rules of another manager.
    await limits.apply("mail", limitManifest("mail", 2));
    flow = await startWeir(folder.path, { cluster: limits });
    pod = await flow.startPod();
    const { cluster } = limits;
    const files = ["crds/crds/ratelimitconfigrevisions.yaml", "control-plane/rbac/revision-reader.yaml"];
    for (const file of files) await cluster.apply(readFileSync(join(ROOT, file), "utf8"));
    await eventually("revisions to be served", async () =>
      expect(await cluster.kubectl(["get", "rlcr"])).toMatchObject({ code: 0 }),
    );
  });

  afterAll(async () => {
    await flow.stop();
    await limits.stop();
    folder.remove();
  });

  /** Keeps the current revision of the resource, as the operator does when every pod has ACKed it. */
  async function keepLastGood(name: string): Promise<void> {
    const { stdout } = await limits.cluster.kubectl(["get", "rlc", name, "--namespace=shop", "-o", "json"]);
    const { metadata, spec } = JSON.parse(stdout) as { metadata: { uid: string }; spec: unknown };
    await limits.cluster.apply(JSON.stringify(revisionOf({ namespace: "shop", name, uid: metadata.uid }, spec)));
  }

  it("change no limit when a resource is invalid and every process is started again", async () => {
    await keepLastGood("mail");
    const questions = pod.keepAsking("mail");
    await limits.apply("mail", manifestOf("mail", "mail", TWINS));
    await eventually("the mistake to be reported", async () =>
      expect((await flow.status()).troubles).toMatchObject([{ keepsOld: true }]),
    );
    await flow.killControlPlane();
    await flow.startControlPlane();
    // A pod that was never sent the form, by a control plane that has never read it.
    const second = await flow.startPod();
    expect(await second.limitOf("mail", PROBE)).toBe(2);
    expect((await flow.status()).troubles).toMatchObject([{ field: "spec.descriptors[1].key", keepsOld: true }]);
    expect(await questions.end()).toBe("2");
    await limits.kubectlApply(limitManifest("mail", 3));
    await eventually("the fixed rule", async () => expect(await second.limitOf("mail", PROBE)).toBe(3));
  });

  it("are not used for a resource that was deleted and created again", async () => {
    await limits.kubectlApply(limitManifest("search", 4));
    await keepLastGood("search");
    await limits.delete("search");
    // Garbage collection may be late, or off.
    await limits.apply("search", manifestOf("search", "search", TWINS));
    await flow.killControlPlane();
    await flow.startControlPlane();
    const second = await flow.startPod();
    expect([await second.limitOf("mail", PROBE), await second.limitOf("search", PROBE)]).toEqual([3, undefined]);
    expect((await flow.status()).troubles).toMatchObject([{ keepsOld: false }]);
  });
});
