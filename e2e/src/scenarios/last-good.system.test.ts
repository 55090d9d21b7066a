// Last good forms outlive every process: an invalid edit, then control plane and pods are started again.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { revisionOf } from "@weir/crds/rate-limit-config-revision/revision";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ClusterFlow, startClusterFlow } from "@weir/harness/weir/cluster-flow";
import { manifestOf } from "@weir/harness/weir/flow";
import { ROOT } from "@weir/harness/processes/programs";

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

describe("last good forms", () => {
  let all: ClusterFlow;

  beforeAll(async () => {
    all = await startClusterFlow();
    const { cluster } = all.limits;
    const files = ["crds/crds/ratelimitconfigrevisions.yaml", "control-plane/rbac/revision-reader.yaml"];
    for (const file of files) await cluster.apply(readFileSync(join(ROOT, file), "utf8"));
    await eventually("revisions to be served", async () =>
      expect(await cluster.kubectl(["get", "rlcr"])).toMatchObject({ code: 0 }),
    );
  });

  afterAll(async () => await all.stop());

  /** Keeps the present form of the resource, as the operator does when every pod has ACKed it. */
  async function keepLastGood(name: string): Promise<void> {
    const { stdout } = await all.limits.cluster.kubectl(["get", "rlc", name, "--namespace=shop", "-o", "json"]);
    const { metadata, spec } = JSON.parse(stdout) as { metadata: { uid: string }; spec: unknown };
    await all.limits.cluster.apply(JSON.stringify(revisionOf({ namespace: "shop", name, uid: metadata.uid }, spec)));
  }

  it("change no limit when a resource is invalid and every process is started again", async () => {
    const { limits, flow } = all;
    await keepLastGood("mail");
    const questions = all.pod.keepAsking("mail");
    await limits.apply("mail", manifestOf("mail", "mail", TWINS));
    await eventually("the mistake to be reported", async () =>
      expect((await flow.status()).troubles).toMatchObject([{ keepsOld: true }]),
    );
    await flow.killControlPlane();
    await flow.startControlPlane();
    // A pod that was never sent the form, by a control plane that has never read it.
    const pod = await flow.startPod();
    expect(await all.limitOf("mail", pod)).toBe(2);
    expect((await flow.status()).troubles).toMatchObject([{ field: "spec.descriptors[1].key", keepsOld: true }]);
    expect(await questions.end()).toBe("2");
    await all.apply("mail", 3);
    await eventually("the mended rule", async () => expect(await all.limitOf("mail", pod)).toBe(3));
  });

  it("are not used for a resource that was deleted and created again", async () => {
    const { limits, flow } = all;
    await all.apply("search", 4);
    await keepLastGood("search");
    await limits.delete("search");
    // Garbage collection may be late, or off.
    await limits.apply("search", manifestOf("search", "search", TWINS));
    await flow.killControlPlane();
    await flow.startControlPlane();
    const pod = await flow.startPod();
    expect([await all.limitOf("mail", pod), await all.limitOf("search", pod)]).toEqual([3, undefined]);
    expect((await flow.status()).troubles).toMatchObject([{ keepsOld: false }]);
  });
});
