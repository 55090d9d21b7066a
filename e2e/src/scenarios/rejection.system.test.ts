// A real pod that NACKs a valid resource, as a pod of an old image does: it keeps the earlier revision of
// that resource and receives everything else; a pod of a new image receives everything.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { eventually } from "@weir/harness/processes/eventually";
import { type Weir, manifestOf, startWeir } from "@weir/harness/weir/weir";
import type { Pod } from "@weir/harness/weir/pod";
import { type OldImageRelay, startOldImageRelay } from "@weir/harness/ads/old-image-relay";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";

describe("a pod that NACKs a resource", () => {
  const folder = makeTemporaryFolder();
  let flow: Weir;
  let relay: OldImageRelay;
  let old: Pod;

  /** The number of requests of this tenant that the pod allows of five. */
  async function allowed(pod: Pod, domain: string, tenant: string): Promise<number> {
    let count = 0;
    for (let request = 0; request < 5; request += 1) if ((await pod.ask(domain, { tenant })) === 200) count += 1;
    return count;
  }

  beforeAll(async () => {
    flow = await startWeir(folder.path, {
      manifests: {
        "mail.yaml": limit("mail", 2, "day"),
        "search.yaml": limit("search", 1, "day"),
      },
    });
    relay = await startOldImageRelay(flow.controlPlane.adsPort, flow.certificates);
    old = await flow.startPod({ ...relay.podEnv, CONFIG_GRPC_XDS_NODE_ID: "edge/old" });
  });

  afterAll(async () => {
    await flow.stop();
    relay.stop();
    folder.remove();
  });

  it("keeps the form that it ACKed of this resource, and receives the edits of everything else", async () => {
    expect([await allowed(old, "mail", "before"), await allowed(old, "search", "before")]).toEqual([2, 1]);
    flow.writeManifest("search.yaml", limit("search", 4, "week"));
    flow.writeManifest("mail.yaml", limit("mail", 3, "day"));
    let round = 0;
    await eventually("the edit of the other resource", async () =>
      expect(await allowed(old, "mail", `after-${(round += 1)}`)).toBe(3),
    );
    expect(await allowed(old, "search", "after")).toBe(1);
  });

  it("is reported by the control plane, with the text of the NACK", async () => {
    const trouble = await eventually("the report of the resource", async () => {
      const { troubles } = await flow.status();
      expect(troubles).toHaveLength(1);
      return troubles[0]!;
    });
    expect(trouble.place).toMatch(/search\.yaml:1\b/);
    expect(trouble.message).toContain("default/search: ");
    expect(trouble.keepsOld).toBe(true);
    const [pod] = (await flow.status()).pods;
    expect(pod).toMatchObject({
      id: "edge/old",
      accepted: expect.stringMatching(/./) as string,
      rejected: { message: expect.stringContaining("default/search: ") as string },
    });
  });

  it("keeps nothing from a pod of a newer image, and changes nothing for itself", async () => {
    const newer = await flow.startPod({ CONFIG_GRPC_XDS_NODE_ID: "edge/new" });
    expect([await allowed(newer, "mail", "new"), await allowed(newer, "search", "new")]).toEqual([3, 4]);
    await eventually("the ACK of the newer pod", async () => {
      const pods = (await flow.status()).pods;
      expect(pods.map(({ id, rejected, resources }) => [id, rejected === undefined, resources])).toEqual([
        ["edge/new", true, 2],
        ["edge/old", false, undefined],
      ]);
    });
    expect([await allowed(old, "mail", "still"), await allowed(old, "search", "still")]).toEqual([3, 1]);
  });

  it("receives the resource again when it is edited to a form that the pod can load", async () => {
    flow.writeManifest("search.yaml", limit("search", 4, "day"));
    let round = 0;
    await eventually("the fixed resource", async () =>
      expect(await allowed(old, "search", `fixed-${(round += 1)}`)).toBe(4),
    );
    await eventually("the end of the report", async () => {
      const { troubles, pods } = await flow.status();
      expect([troubles, pods.map(({ rejected }) => rejected)]).toEqual([[], [undefined, undefined]]);
    });
  });
});

function limit(domain: string, requestsPerUnit: number, unit: string): string {
  return manifestOf(domain, domain, [{ key: "tenant", rateLimit: { unit, requestsPerUnit } }]);
}
