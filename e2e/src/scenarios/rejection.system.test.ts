// A real pod that rejects what the control plane holds for good, as a pod of an older image does:
// its NACK costs one resource its newest form, and nothing else; a pod of a newer
// image gets all.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { eventually } from "@weir/testing/eventually";
import { type Flow, manifestOf, startFlow } from "../parts/flow.ts";
import type { Pod } from "../parts/pod.ts";
import { type OldImageRelay, startOldImageRelay } from "../parts/old-image-relay.ts";
import { reservePort } from "@weir/testing/reserve-ports";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";

/** No TLS between pod and control plane: the relay stands between. */
const PLAINTEXT_POD = {
  CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
  CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "",
  CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "",
};
const PLAINTEXT_CONTROL_PLANE = {
  ADS_PLAINTEXT: "true",
  ADS_TLS_CERT: "",
  ADS_TLS_KEY: "",
  ADS_TLS_CLIENT_CACERT: "",
  ADS_ALLOWED_SANS: "",
};

describe("a pod that rejects", () => {
  const folder = makeTemporaryFolder();
  let adsPort: number;
  let flow: Flow;
  let relay: OldImageRelay;
  let old: Pod;

  /** How many requests of this tenant are let through of five. */
  async function allowed(pod: Pod, domain: string, tenant: string): Promise<number> {
    let count = 0;
    for (let request = 0; request < 5; request += 1) if ((await pod.ask(domain, { tenant })) === 200) count += 1;
    return count;
  }

  beforeAll(async () => {
    adsPort = await reservePort();
    flow = await startFlow(
      folder.path,
      { "mail.yaml": limit("mail", 2, "day"), "search.yaml": limit("search", 1, "day") },
      { controlPlaneEnv: { ...PLAINTEXT_CONTROL_PLANE, ADS_PORT: String(adsPort) } },
    );
    relay = await startOldImageRelay(adsPort);
    old = await flow.startPod({
      ...PLAINTEXT_POD,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "",
      CONFIG_GRPC_XDS_NODE_ID: "edge/old",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${relay.port}`,
    });
  });

  afterAll(async () => {
    await flow.stop();
    relay.stop();
    folder.remove();
  });

  it("keeps the last accepted form of what it rejects, and takes the edits of everything else", async () => {
    expect([await allowed(old, "mail", "before"), await allowed(old, "search", "before")]).toEqual([2, 1]);
    flow.writeManifest("search.yaml", limit("search", 4, "week"));
    flow.writeManifest("mail.yaml", limit("mail", 3, "day"));
    let round = 0;
    await eventually("the edit of the other resource", async () =>
      expect(await allowed(old, "mail", `after-${(round += 1)}`)).toBe(3),
    );
    expect(await allowed(old, "search", "after")).toBe(1);
  });

  it("is reported by the control plane, with the pod's own text", async () => {
    const trouble = await eventually("the trouble", async () => {
      const { troubles } = await flow.status();
      expect(troubles).toHaveLength(1);
      return troubles[0]!;
    });
    expect(trouble.place).toMatch(/search\.yaml:1\b/);
    expect(trouble.message).toContain("default/search: ");
    expect(trouble.keepsOld).toBe(true);
    await eventually("the pod to have accepted what it has", async () => {
      const [pod] = (await flow.status()).pods;
      expect([pod?.id, pod?.rejected]).toEqual(["edge/old", undefined]);
    });
  });

  it("does not keep a pod of a newer image from everything, and continues with what it has", async () => {
    const newer = await flow.startPod({
      ...PLAINTEXT_POD,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "",
      CONFIG_GRPC_XDS_NODE_ID: "edge/new",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${adsPort}`,
    });
    expect([await allowed(newer, "mail", "new"), await allowed(newer, "search", "new")]).toEqual([3, 4]);
    await eventually("the NACK of the old pod to be reported", async () => {
      const pods = (await flow.status()).pods;
      expect(pods.find(({ id }) => id === "edge/old")?.rejected?.message).toContain("default/search: ");
      expect(pods.find(({ id }) => id === "edge/new")?.rejected).toBeUndefined();
    });
    expect([await allowed(old, "mail", "still"), await allowed(old, "search", "still")]).toEqual([3, 1]);
  });

  it("accepts the resource again once it is edited to what the pod knows", async () => {
    flow.writeManifest("search.yaml", limit("search", 4, "day"));
    let round = 0;
    await eventually("the fixed resource", async () =>
      expect(await allowed(old, "search", `fixed-${(round += 1)}`)).toBe(4),
    );
    await eventually("the end of the trouble", async () => expect((await flow.status()).troubles).toEqual([]));
  });
});

function limit(domain: string, requestsPerUnit: number, unit: string): string {
  return manifestOf(domain, domain, [{ key: "tenant", rateLimit: { unit, requestsPerUnit } }]);
}
