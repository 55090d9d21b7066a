// A fleet of pods of an old image: they keep the newest rules that they can load when the control plane
// restarts.
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type Weir, manifestOf, startWeir } from "@weir/harness/weir/weir";
import { type OldImageRelay, startOldImageRelay } from "@weir/harness/ads/old-image-relay";
import type { Pod } from "@weir/harness/weir/pod";

/** Resources of one tenant: more than the NACKs after which its resources come one by one. */
const BULK = 12;

describe("a fleet of pods of an old image", () => {
  const folder = makeTemporaryFolder();
  let flow: Weir;
  let relay: OldImageRelay;
  let old: Pod;

  beforeAll(async () => {
    flow = await startWeir(folder.path, {
      manifests: { "mail.yaml": limit("mail", 1), "search.yaml": limit("search", 1) },
      controlPlaneEnv: { STATE_DIRECTORY: join(folder.path, "state") },
    });
    relay = await startOldImageRelay(flow.controlPlane.adsPort, flow.certificates);
    old = await startOld("edge/one");
    flow.writeManifest("search.yaml", limit("search", 2, { unit: "week" })); // Old images cannot load it.
    await eventually("the NACK", async () =>
      expect((await flow.status()).troubles).toMatchObject([{ keepsOld: true }]),
    );
  });

  afterAll(async () => {
    await flow.stop();
    relay.stop();
    folder.remove();
  });

  it("receives the edits of others, and what it can load of a tenant that adds a dozen resources that it cannot", async () => {
    const bulk = Array.from({ length: BULK }, (_, index) => `bulk-${index}`);
    for (const name of bulk) flow.writeManifest(`${name}.yaml`, limit(name, 1, { unit: "week", namespace: "greedy" }));
    flow.writeManifest("known.yaml", limit("known", 1, { namespace: "greedy" }));
    await eventually("the first NACKs", async () => {
      const { resources } = await flow.controlPlane.rollout();
      expect(resources.filter(({ reason }) => reason === "RejectedByDataPlane").length).toBeGreaterThan(1);
    });
    await editMail();
    // One more resource of that tenant each second.
    await expectLimits(old, { known: 1, search: 1 });
    await eventually("the report of all", async () => {
      const { troubles } = await flow.status();
      expect(troubles.filter(({ keepsOld }) => !keepsOld).map(({ file }) => basename(file, ".yaml"))).toEqual(
        bulk.toSorted(),
      );
    });
    for (const name of [...bulk, "known"]) flow.removeManifest(`${name}.yaml`);
    await eventually("the end of the limit", async () =>
      expect(await old.limitOf("known", { user: "probe" })).toBeUndefined(),
    );
  });

  it("keeps every limit when the control plane is killed and starts again", async () => {
    await restart(() => flow.killControlPlane());
    await expectLimits(old, { mail: edits, search: 1 });
  });

  it("keeps every limit when the control plane is shut down and starts again", async () => {
    await restart(async () => {
      await flow.controlPlane.process.stop("SIGTERM", 30_000);
    });
    await expectLimits(old, { mail: edits, search: 1 });
  });

  it("has the newest form that it can load when it is rolled back after several edits", async () => {
    await old.process.stop("SIGTERM", 5000);
    const current = await flow.startPod({ CONFIG_GRPC_XDS_NODE_ID: "edge/one" });
    for (const requestsPerUnit of [3, 4, 5]) {
      flow.writeManifest("search.yaml", limit("search", requestsPerUnit, { unit: "week" }));
      await expectLimits(current, { mail: edits, search: requestsPerUnit });
    }
    await current.process.stop("SIGTERM", 5000);
    old = await startOld("edge/one");
    await expectLimits(old, { mail: edits, search: 1 });
  });

  let edits = 1;
  /** Restarts the control plane, and edits mail: the pod has nothing but the next limit. */
  async function restart(stop: () => Promise<void>): Promise<void> {
    const questions = [old.keepAsking("mail"), old.keepAsking("search")];
    await stop();
    await flow.startControlPlane();
    await editMail();
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual([`${edits - 1} → ${edits}`, "1"]);
  }

  async function editMail(): Promise<void> {
    edits += 1;
    flow.writeManifest("mail.yaml", limit("mail", edits));
    await expectLimits(old, { mail: edits });
  }

  function startOld(nodeId: string): Promise<Pod> {
    return flow.startPod({ ...relay.podEnv, CONFIG_GRPC_XDS_NODE_ID: nodeId });
  }

  async function expectLimits(pod: Pod, limits: Readonly<Record<string, number>>): Promise<void> {
    for (const [domain, expected] of Object.entries(limits)) {
      await eventually(
        `the limit ${expected} of ${domain}`,
        async () => expect(await pod.limitOf(domain, { user: "probe" })).toBe(expected),
        10_000,
      );
    }
  }
});

function limit(
  domain: string,
  requestsPerUnit: number,
  { unit = "day", namespace = "default" }: { readonly unit?: string; readonly namespace?: string } = {},
): string {
  return manifestOf(domain, domain, [{ key: "user", rateLimit: { unit, requestsPerUnit } }], { namespace });
}
