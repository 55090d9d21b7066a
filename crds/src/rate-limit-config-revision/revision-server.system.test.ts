// Tests of the CRD of RateLimitConfigRevision on a real API server.
import { gzipSync } from "node:zlib";

import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { revisionOf } from "./revision.ts";

const SPEC = {
  domain: "shop",
  descriptors: [
    {
      key: "user",
      rateLimit: { unit: "minute", requestsPerUnit: 5 },
      metadata: { team: { name: "a" } },
      descriptors: [{ key: "path", value: "/*", rateLimit: { unit: "second", requestsPerUnit: 1 } }],
    },
  ],
};
const REVISION = revisionOf({ namespace: "default", name: "shop", uid: "00000000-0000-0000-0000-000000000001" }, SPEC);
const NAME = REVISION.metadata.name;

let cluster: KubernetesCluster;
beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigrevisions");
  await cluster.apply(JSON.stringify(REVISION));
});
afterAll(async () => await cluster.stop());

describe("RateLimitConfigRevision", () => {
  it.each([
    { what: "a limit", path: "/spec/descriptors/0/rateLimit/requestsPerUnit", value: 6 },
    { what: "a limit below", path: "/spec/descriptors/0/descriptors/0/rateLimit/requestsPerUnit", value: 6 },
    { what: "a fact", path: "/spec/descriptors/0/metadata/team/name", value: "b" },
    { what: "the fleets", path: "/spec/fleets", value: ["edge"] },
  ])("is immutable: $what", async ({ path, value }) => {
    const patch = JSON.stringify([{ op: "add", path, value }]);
    const { code, stderr } = await cluster.kubectl(["patch", "rlcr", NAME, "--type=json", "-p", patch]);
    expect(stderr).toContain("spec: Forbidden: spec cannot be changed; the operator makes another revision");
    expect(code).not.toBe(0);
  });

  it("has either a spec or a compressed one, which is immutable too", async () => {
    const { metadata } = REVISION;
    const create = async (name: string, content: object): Promise<string> => {
      const path = "/apis/ratelimit.weir.dev/v1alpha1/namespaces/default/ratelimitconfigrevisions";
      const body = JSON.stringify({ ...REVISION, metadata: { ...metadata, name }, spec: undefined, ...content });
      const { status, text } = await cluster.api.send("POST", path, body);
      return `${status} ${text}`;
    };
    const compressedSpec = gzipSync(JSON.stringify(SPEC)).toString("base64");
    expect(await create("compressed", { compressedSpec })).toMatch(/^201 /);
    for (const content of [{}, { spec: SPEC, compressedSpec }])
      expect(await create("other", content)).toContain("must have either spec or compressedSpec");
    for (const patch of [{ compressedSpec: "eA==" }, { compressedSpec: null, spec: SPEC }]) {
      const { stderr } = await cluster.kubectl([
        ...["patch", "rlcr", "compressed", "--type=merge", "-p", JSON.stringify(patch)],
      ]);
      expect(stderr).toContain("spec cannot be changed; the operator makes another revision");
    }
    await cluster.kubectl(["delete", "rlcr", "compressed"]);
  });

  it("can be labelled, and has columns and descriptions", async () => {
    expect((await cluster.kubectl(["label", "rlcr", NAME, "team=a"])).code).toBe(0);
    const { stdout } = await cluster.kubectl(["get", "rlcr"]);
    expect(stdout.split("\n").map((line) => line.trim().split(/\s+/))).toMatchObject([
      ["NAME", "CONFIG", "DOMAIN", "AGE"],
      [NAME, "shop", "shop", expect.any(String)],
      [""],
    ]);
    const explained = await cluster.kubectl(["explain", "rlcr.spec"]);
    expect(explained.stdout).toContain("The spec that the RateLimitConfig had.");
  });
});
