// One tenant's resources that do not fit into what pods can receive: they wait, and the edits of all other
// tenants are served, also after a restart.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";
import { saveManifest } from "@weir/harness/weir/weir";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import { type Replica, startReplica } from "@weir/harness/weir/replica";

/** Rules of one large resource, and characters in the value of each: about 860 kB. */
const LARGE = { rules: 860, valueLength: 960 } as const;

/** Longest wait for an edit, in milliseconds: the control plane and the pod parse megabytes. */
const EDIT_TIMEOUT_MS = 20_000;

describe("five resources of one tenant with 860 kB each", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  let certificates: DevelopmentCertificates;
  let replica: Replica;
  let pod: Pod;

  beforeAll(async () => {
    mkdirSync(manifests);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    for (const year of [2022, 2023, 2024, 2025]) saveLarge(year);
    saveSmall("mail", 1);
    replica = await startReplica({ certificates, manifests });
    pod = await startPod({ ports: replica.ports, certificates });
  });

  afterAll(async () => {
    for (const { process } of [pod, replica]) await process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("leave out the one that comes last, though it is the oldest, and change nothing for what is published", async () => {
    const questions = pod.keepAsking("mail");
    saveLarge(2021);
    await expectWaiting("large-2021");
    for (const year of [2022, 2023, 2024, 2025]) await expectLimit(`large-${year}`, year);
    expect(await pod.limitOf("large-2021", { user: "probe" })).toBeUndefined();
    expect(await questions.end()).toBe("1");
  });

  it("do not keep other tenants from editing and adding resources", async () => {
    saveSmall("mail", 2);
    await expectLimit("mail", 2);
    saveSmall("search", 3);
    await expectLimit("search", 3);
    await expectWaiting("large-2021");
  });

  it("are served oldest first after a restart, with the resources of all others", async () => {
    const questions = pod.keepAsking("mail");
    replica.process.kill();
    await replica.process.exited;
    replica = await startReplica({ certificates, manifests, ports: replica.ports });
    const ready = await fetch(`${replica.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([200, expect.stringMatching(/[0-9a-f]{32}/)]);
    await expectWaiting("large-2025");
    for (const year of [2021, 2022, 2023, 2024]) await expectLimit(`large-${year}`, year);
    saveSmall("search", 4);
    await expectLimit("search", 4);
    expect(await questions.end()).toBe("2");
  });

  it("are all served when they fit", async () => {
    saveLarge(2024, 10);
    for (const year of [2021, 2022, 2023, 2024, 2025]) await expectLimit(`large-${year}`, year);
    await eventually("the end of the wait", async () =>
      expect((await replica.rollout()).resources.map(({ state }) => state)).toEqual(
        Array.from({ length: 7 }, () => "RESOURCE_STATE_SERVED"),
      ),
    );
  });

  function saveLarge(year: number, rules: number = LARGE.rules): void {
    const padding = Array.from({ length: rules }, (_, index) => ({
      key: "path",
      value: String(index).padStart(LARGE.valueLength, "/"),
      rateLimit: { unit: "year", requestsPerUnit: 1 },
    }));
    save({ namespace: "greedy", name: `large-${year}`, year, requestsPerUnit: year, padding });
  }

  /** Saves a resource that is younger than the large ones. */
  function saveSmall(name: string, requestsPerUnit: number): void {
    save({ namespace: "modest", name, year: 2026, requestsPerUnit, padding: [] });
  }

  function save(limit: {
    readonly namespace: string;
    readonly name: string;
    readonly year: number;
    readonly requestsPerUnit: number;
    readonly padding: readonly object[];
  }): void {
    const { namespace, name, year, requestsPerUnit, padding } = limit;
    const manifest = {
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitConfig",
      metadata: { namespace, name, creationTimestamp: `${year}-01-01T00:00:00Z` },
      spec: { domain: name, descriptors: [{ key: "user", rateLimit: { unit: "year", requestsPerUnit } }, ...padding] },
    };
    saveManifest(manifests, `${name}.yaml`, stringify(manifest));
  }

  /** Waits until the replica reports that this resource alone does not fit. */
  async function expectWaiting(name: string): Promise<void> {
    await eventually("the report of the resource", async () => {
      const { resources } = await replica.rollout();
      expect(resources.filter(({ state }) => state !== "RESOURCE_STATE_SERVED")).toMatchObject([
        { name, state: "RESOURCE_STATE_REFUSED", reason: "TooLarge" },
      ]);
    });
  }

  async function expectLimit(domain: string, limit: number): Promise<void> {
    await eventually(
      `the limit ${limit} of ${domain}`,
      async () => expect(await pod.limitOf(domain, { user: "probe" })).toBe(limit),
      EDIT_TIMEOUT_MS,
    );
  }
});
