// A real pod of the incremental variant that starts over a set of several responses: it is ready when it has all.
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { limitManifest, manifestOf, startWeir, type Weir } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** About 200 KiB. */
function largeManifest(name: string): string {
  const rateLimit = { unit: "day", requestsPerUnit: 1 };
  const values = Array.from({ length: 200 }, (_, index) => String(index).padEnd(1000, "x"));
  return manifestOf(
    name,
    name,
    values.map((value) => ({ key: "path", value, rateLimit })),
  );
}

describe("a pod of GRPC_XDS_DELTA", () => {
  const folder = makeTemporaryFolder();
  let weir: Weir;

  beforeAll(async () => {
    const large = Array.from({ length: 6 }, (_, index) => [`a${index}.yaml`, largeManifest(`a${index}`)] as const);
    weir = await startWeir(folder.path, {
      manifests: { ...Object.fromEntries(large), "z.yaml": limitManifest("z", 3) },
    });
  });

  afterAll(async () => {
    await weir.stop();
    folder.remove();
  });

  it("has all limits of several responses when it is ready, and is current in the report", async () => {
    const pod = await weir.startPod({ CONFIG_GRPC_XDS_DELTA: "true" });
    expect(await pod.limitOf("z", { user: "ada" })).toBe(3);
    await eventually("the report", async () => {
      const { pods } = await weir.status();
      expect(pods).toMatchObject([{ resources: 7 }]);
    });
    const loads = pod.process.text().split("Successfully loaded new configuration").length - 1;
    expect(loads).toBeGreaterThan(2);
  });
});
