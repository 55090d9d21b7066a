// A fleet of pods of an old image: they keep the newest rules that they can load when the control plane
// restarts.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/testing/eventually";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { type Flow, manifestOf, startFlow } from "../parts/flow.ts";
import { type OldImageRelay, startOldImageRelay } from "../parts/old-image-relay.ts";
import type { Pod } from "../parts/pod.ts";

describe("a fleet of pods of an old image", () => {
  const folder = makeTemporaryFolder();
  let flow: Flow;
  let relay: OldImageRelay;
  let old: Pod;

  beforeAll(async () => {
    flow = await startFlow(
      folder.path,
      { "mail.yaml": limit("mail", 1), "search.yaml": limit("search", 1) },
      { controlPlaneEnv: { STATE_DIRECTORY: join(folder.path, "state") } },
    );
    relay = await startOldImageRelay(flow.adsPort, flow.certificates);
    old = await startOld("edge/one");
    flow.writeManifest("search.yaml", limit("search", 2, "week")); // What the old image cannot load.
    await eventually("the NACK", async () =>
      expect((await flow.status()).troubles).toMatchObject([{ keepsOld: true }]),
    );
  });

  afterAll(async () => {
    await flow.stop();
    relay.stop();
    folder.remove();
  });

  it("keeps every limit when the control plane is killed and starts again", async () => {
    await restart(() => flow.killControlPlane());
    await expectLimits(old, { mail: 2, search: 1 });
  });

  let edits = 1;
  /** Restarts the control plane, and edits mail: the pod has nothing but the next limit. */
  async function restart(stop: () => Promise<void>): Promise<void> {
    const questions = [old.keepAsking("mail"), old.keepAsking("search")];
    await stop();
    await flow.startControlPlane();
    edits += 1;
    flow.writeManifest("mail.yaml", limit("mail", edits));
    await eventually("the edit", async () => expect(await old.limitOf("mail", { user: "probe" })).toBe(edits));
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual([`${edits - 1} → ${edits}`, "1"]);
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

function limit(domain: string, requestsPerUnit: number, unit = "day"): string {
  return manifestOf(domain, domain, [{ key: "user", rateLimit: { unit, requestsPerUnit } }]);
}
