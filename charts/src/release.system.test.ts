// The life of releases in a cluster: the previous charts are installed, upgraded to those of this tree, rolled back and
// uninstalled; limits, accounts and keys survive.
import { join } from "node:path";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHARTS, HELM_VERSIONS } from "@weir/harness/helm/helm";
import { renderYaml } from "@weir/harness/helm/render";
import { chartVersion, previousCharts, Releases } from "./releases.suite.ts";
import { valuesFilesOf } from "./values-files.suite.ts";

const NAMESPACE = "weir-system";

/** Longest wait of Helm for pods; two replicas take seconds. */
const WAIT = ["--wait", "--timeout", "3m"];

/** Longest time of a test, in milliseconds: commands wait for pods. */
const TIMEOUT_MS = 300_000;

const LIMIT = `
apiVersion: ratelimit.weir.dev/v1alpha1
kind: RateLimitConfig
metadata: {name: kept, namespace: ${NAMESPACE}}
spec: {domain: kept, descriptors: [{key: path, rateLimit: {unit: minute, requestsPerUnit: 5}}]}
`;

/** Pods that kwok runs make no Secrets, so these are said to be brought along; the test never starts a program. */
const EXTERNAL = {
  "certificates.source": "external",
  "webhook.enabled": "false",
  "rateLimitService.spec.controlPlane.certificateSecret": "brought",
};

/** A volume without a storage class, for the claim of the account service. */
const VOLUME = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: accounts}
spec:
  capacity: {storage: 8Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /nowhere}
`;

let cluster: KubernetesCluster;
let previous: string;

beforeAll(async () => {
  previous = await previousCharts();
  cluster = await startKubernetesCluster({ full: true });
  await cluster.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: ${NAMESPACE}}}`);
});

afterAll(async () => {
  await cluster.stop();
});

describe.each(HELM_VERSIONS)("with Helm %i", (version) => {
  let releases: Releases;
  beforeAll(() => {
    releases = new Releases(cluster, NAMESPACE, version);
  });

  describe("a release of the previous charts weir-crds and weir", () => {
    it(
      "is upgraded and rolled back, and leaves limits when it goes",
      async () => {
        // Nothing is created before all kinds are known, so the remedy is a second command, not a cleaning.
        const early = await releases.helm("install", "weir", join(CHARTS, "weir"));
        expect(early.code).toBe(1);
        expect(early.stderr).toContain(
          `no matches for kind "RateLimitService" in version "ratelimit.weir.dev/v1alpha1"`,
        );
        expect(early.stderr).toContain("ensure CRDs are installed first");

        await releases.succeed("install", "weir-crds", join(previous, "weir-crds"), ...WAIT);
        await releases.succeed("install", "weir", join(previous, "weir"), ...set(EXTERNAL), ...WAIT);
        const before = `2 weir-${chartVersion(join(previous, "weir"))}`;
        expect(await releases.deployment("weir-operator")).toBe(before);
        await cluster.apply(LIMIT);

        const next = releases.nextVersion("weir");
        await releases.succeed("upgrade", "weir-crds", releases.nextVersion("weir-crds"), ...WAIT);
        const values = ["--reset-then-reuse-values", ...set({ "operator.replicas": "3" })];
        await releases.succeed("upgrade", "weir", next, ...values, ...WAIT);
        expect(await releases.deployment("weir-operator")).toBe("3 weir-99.0.0");
        expect(await releases.chartOf("crd/ratelimitconfigs.ratelimit.weir.dev")).toBe("weir-crds-99.0.0");
        expect(await releases.get("deployments", "{.items[*].metadata.name}")).toBe("weir-control-plane weir-operator");
        expect(await releases.get("rls/ratelimit", "{.spec.backend.type}")).toBe("memory");

        await releases.succeed("rollback", "weir", "1", ...WAIT);
        expect(await releases.deployment("weir-operator")).toBe(before);

        // These values lack what the chart has had since.
        await releases.succeed("upgrade", "weir", next, "--reuse-values", ...WAIT);
        expect(await releases.deployment("weir-operator")).toBe("2 weir-99.0.0");

        await releases.succeed("uninstall", "weir", "--wait");
        await releases.succeed("uninstall", "weir-crds", "--wait");
        expect(await releases.get("deployments", "{.items[*].metadata.name}")).toBe("");
        expect(await releases.get("rlc/kept", "{.spec.domain}")).toBe("kept");

        // The definitions carry the name of the release that made them, so the same command takes them over again.
        await releases.succeed("install", "weir-crds", join(CHARTS, "weir-crds"), ...set({ keep: "false" }), ...WAIT);
        await releases.succeed("install", "weir", join(CHARTS, "weir"), ...set(EXTERNAL), ...WAIT);
        expect(await releases.get("rlc/kept", "{.spec.domain}")).toBe("kept");

        await releases.succeed("uninstall", "weir", "--wait");
        await releases.succeed("uninstall", "weir-crds", "--wait");
        expect(await releases.get("crd", "{.items[*].metadata.name}")).toBe("");
      },
      TIMEOUT_MS,
    );

    it("has values that the charts of this tree accept, whatever users had set", async () => {
      const files = valuesFilesOf(previous);
      expect(files.length).toBeGreaterThan(30);
      for (const { chart, values } of files) await renderYaml({ chart, values });
    });
  });

  describe("a release whose webhook must answer", () => {
    it(
      "gets the RateLimitService of the chart also while no operator runs, and no other one",
      async () => {
        const values = set({ "webhook.failurePolicy": "Fail" });
        await releases.succeed("install", "weir-crds", join(CHARTS, "weir-crds"), ...set({ keep: "false" }), ...WAIT);
        await releases.succeed("install", "weir", join(CHARTS, "weir"), ...values);
        const other = renamed(await releases.get("rls/ratelimit", "{.spec}"), "other");
        await eventually("the API server to ask the webhook", async () => {
          const { code, stderr } = await cluster.kubectl(["apply", "-f", "-"], other);
          expect({ code, stderr }).toEqual({
            code: 1,
            stderr: expect.stringContaining("failed calling webhook") as string,
          });
        });
        await cluster.run(["delete", "rls/ratelimit", "-n", NAMESPACE]);
        await releases.succeed("upgrade", "weir", join(CHARTS, "weir"), ...values);
        expect(await releases.get("rls/ratelimit", "{.spec.backend.type}")).toBe("memory");
        await releases.succeed("uninstall", "weir", "--wait");
        await releases.succeed("uninstall", "weir-crds", "--wait");
      },
      TIMEOUT_MS,
    );
  });

  describe("a release of the previous chart weir-account", () => {
    it(
      "is upgraded and rolled back, and leaves claim and keys, with which it is installed again",
      async () => {
        await cluster.apply(VOLUME);
        await cluster.apply(
          `{apiVersion: v1, kind: Secret, metadata: {name: weir-account-keys, namespace: ${NAMESPACE}}, stringData: {k: v}}`,
        );
        const origin = set({ publicOrigin: "https://account.example.com" });
        await releases.succeed("install", "weir-account", join(previous, "weir-account"), ...origin, ...WAIT);
        const before = `1 weir-account-${chartVersion(join(previous, "weir-account"))}`;
        expect(await releases.deployment("weir-account")).toBe(before);
        const claim = await dataClaim(releases);
        expect(claim).toMatch(/^accounts Bound /);

        await releases.succeed(
          "upgrade",
          "weir-account",
          releases.nextVersion("weir-account"),
          "--reuse-values",
          ...WAIT,
        );
        expect([await releases.deployment("weir-account"), await dataClaim(releases)]).toEqual([
          "1 weir-account-99.0.0",
          claim,
        ]);

        await releases.succeed("rollback", "weir-account", "1", ...WAIT);
        expect([await releases.deployment("weir-account"), await dataClaim(releases)]).toEqual([before, claim]);

        await releases.succeed("uninstall", "weir-account", "--wait");
        expect(await releases.get("deployments", "{.items[*].metadata.name}")).toBe("");
        expect([await dataClaim(releases), await releases.get("secret/weir-account-keys", "{.data.k}")]).toEqual([
          claim,
          "dg==",
        ]);

        const forgotten = set({ "persistence.retain": "false" });
        await releases.succeed(
          "install",
          "weir-account",
          join(CHARTS, "weir-account"),
          ...origin,
          ...forgotten,
          ...WAIT,
        );
        expect(await dataClaim(releases)).toBe(claim);
        await releases.succeed("uninstall", "weir-account", "--wait");
        expect(await releases.get("pvc", "{.items[*].metadata.name}")).toBe("");
        expect(await releases.get("secret/weir-account-keys", "{.data.k}")).toBe("dg==");
        await cluster.run(["delete", "pv/accounts"]); // It was of that claim.
      },
      TIMEOUT_MS,
    );
  });
});

/** A RateLimitService with the same spec, which is in JSON. */
function renamed(spec: string, name: string): string {
  const metadata = { name, namespace: NAMESPACE };
  return JSON.stringify({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitService",
    metadata,
    spec: JSON.parse(spec) as unknown,
  });
}

/** Volume, phase and identity of the claim with the accounts. */
async function dataClaim(releases: Releases): Promise<string> {
  return await releases.get("pvc/weir-account-data", "{.spec.volumeName} {.status.phase} {.metadata.uid}");
}

function set(values: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
}
