// Last good revisions from RateLimitConfigRevisions on a real API server: a source that has just started
// serves them, if they are of the object that exists now.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { createLog } from "@weir/common/log/log";
import { REVISION_PLURAL, revisionOf } from "@weir/crds/rate-limit-config-revision/revision";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { limitOf } from "../source.suite.ts";
import { applyConfig, LOOSE_CRD, openSource, RESTARTS_TIMEOUT_MS } from "./kubernetes-fixture.suite.ts";
import type { KubernetesSource, KubernetesSourceOptions } from "./kubernetes-source.ts";

const RBAC_FOLDER = join(import.meta.dirname, "../../../rbac");
const API = "/apis/ratelimit.weir.dev/v1alpha1";
const ANOTHER_UID = "00000000-0000-0000-0000-000000000001";
const CANNOT =
  "Last good revisions in RateLimitConfigRevisions cannot be read, so none from before this process is served";

let cluster: KubernetesCluster;
let source: KubernetesSource | undefined;
const messages: string[] = [];

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  // With this definition the API server accepts what the control plane does not.
  await cluster.installKind("ratelimitconfigs", LOOSE_CRD);
  await cluster.createNamespaces("default", "weir-system");
  await applyConfig(cluster, manifest({ name: "shop", namespace: "default", domain: "shop", unit: "fortnight" }));
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => await cluster.stop());

afterEach(async () => {
  await source?.stop();
  source = undefined;
  messages.length = 0;
});

async function start(options: Partial<KubernetesSourceOptions> = {}): Promise<KubernetesSource> {
  const write = (line: string): void => void messages.push((JSON.parse(line) as { "@message": string })["@message"]);
  const log = createLog({ level: "info", format: "json", write });
  source = openSource(cluster, options, log);
  await source.start();
  return source;
}

async function uidOf(name: string): Promise<string> {
  const { body } = await cluster.api.send("GET", `${API}/namespaces/default/ratelimitconfigs/${name}`);
  return (body as unknown as { metadata: { uid: string } }).metadata.uid;
}

interface Revision {
  readonly domain?: string;
  readonly requestsPerUnit?: number;
  readonly unit?: string;
  readonly uid?: string;
  /** Further rules, of a thousand bytes each; from 128 on, the revision is compressed. */
  readonly largeRules?: number;
}

/** Applies a revision of the object `shop`, and returns its name. */
async function keep({
  domain = "shop",
  requestsPerUnit = 7,
  unit = "minute",
  uid,
  largeRules = 0,
}: Revision = {}): Promise<string> {
  const large = Array.from({ length: largeRules }, (_, index) => ({
    key: "path",
    value: String(index).padEnd(1000, "/"),
  }));
  const spec = { domain, descriptors: [{ key: "user", rateLimit: { unit, requestsPerUnit } }, ...large] };
  const revision = revisionOf({ namespace: "default", name: "shop", uid: uid ?? (await uidOf("shop")) }, spec);
  await cluster.apply(JSON.stringify(revision));
  return revision.metadata.name;
}

async function limitIn(found: KubernetesSource): Promise<number | undefined> {
  return limitOf(await found.read(), "default/shop");
}

describe("a source without revisions", () => {
  it("starts while the kind is missing, says so once, and reads them when it is there", async () => {
    const started = await start();
    expect([await limitIn(started), started.counts().readsLastGood]).toEqual([undefined, false]);
    await eventually("the log line", () => expect(messages).toContain(CANNOT));
    await cluster.installKinds(REVISION_PLURAL);
    await keep();
    await eventually("the last good revision", async () => expect(await limitIn(started)).toBe(7));
    expect(messages.filter((message) => message === CANNOT)).toHaveLength(1);
    await eventually("the other log line", () =>
      expect([started.counts().readsLastGood, ...messages]).toEqual(
        expect.arrayContaining([true, "Last good revisions in RateLimitConfigRevisions can be read"]),
      ),
    );
    // The wait is only for a start.
    expect(messages.some((message) => message.startsWith("Started before"))).toBe(false);
  });

  it.each([
    { roles: ["cluster-role", "cluster-role-binding"], limit: undefined },
    { roles: ["cluster-role", "cluster-role-binding", "revision-reader"], limit: 7 },
  ])("reads with the roles $roles the limit $limit", async ({ roles, limit }) => {
    const files = ["service-account", ...roles].map((name) => readFileSync(join(RBAC_FOLDER, `${name}.yaml`), "utf8"));
    await cluster.apply(files.join("---\n"));
    const token = await cluster.tokenOf("weir-control-plane", "weir-system");
    const path = join(cluster.folder, "kubeconfig-account");
    writeFileSync(path, cluster.kubeconfig({}, token));
    const started = await start({ connection: { kind: "kubeconfig", paths: [path] } });
    await eventually("the limit", async () => expect(await limitIn(started)).toBe(limit));
    await eventually("the log", () => expect(messages.includes(CANNOT)).toBe(limit === undefined));
  });
});

describe("a source with revisions", () => {
  beforeEach(async () => {
    const { status } = await cluster.api.send("DELETE", `${API}/namespaces/default/${REVISION_PLURAL}`);
    expect(status).toBe(200);
  });

  it("serves the revision of an object that is invalid, immediately, until it is valid", async () => {
    await keep();
    const started = await start();
    const { resources, refusals } = await started.read();
    expect(resources).toMatchObject([{ name: "shop", isLastGood: true, uid: await uidOf("shop") }]);
    expect(limitOf(await started.read(), "default/shop")).toBe(7);
    expect(refusals).toMatchObject([
      { resource: "default/shop", field: "spec.descriptors[0].rateLimit.unit", keepsLastGood: true },
    ]);
    await applyConfig(cluster, manifest({ name: "shop", namespace: "default", domain: "shop", requestsPerUnit: 8 }));
    await eventually("the valid revision", async () => expect(await limitIn(started)).toBe(8));
    const [resource] = (await started.read()).resources;
    expect(resource?.lastGood?.map(({ spec }) => spec.descriptors?.[0]?.rateLimit?.requestsPerUnit)).toEqual([7]);
    expect(await started.read()).toBe(await started.read());
    await applyConfig(cluster, manifest({ name: "shop", namespace: "default", domain: "shop", unit: "fortnight" }));
    await eventually("the last valid revision", async () =>
      expect((await started.read()).refusals).toMatchObject([{ keepsLastGood: true }]),
    );
    expect(await limitIn(started)).toBe(8);
  });

  it.each<{ readonly what: string; readonly revision: Revision }>([
    { what: "another object of the name", revision: { uid: ANOTHER_UID } },
    { what: "another domain", revision: { domain: "victim" } },
  ])("ignores the revision of $what", async ({ revision }) => {
    await keep(revision);
    const started = await start();
    expect(await started.read()).toMatchObject({ resources: [], refusals: [{ keepsLastGood: false }] });
    // The one that is right is served next to it.
    await keep({ requestsPerUnit: 9 });
    await eventually("the right revision", async () => expect(await limitIn(started)).toBe(9));
    expect((await started.read()).resources).toHaveLength(1);
  });

  it("serves a revision of 866 kB, which is compressed, and ignores one that is longer than any object", async () => {
    await keep({ requestsPerUnit: 8, largeRules: 860 });
    const bomb = revisionOf({ namespace: "default", name: "shop", uid: await uidOf("shop") }, { domain: "bomb" });
    const compressedSpec = gzipSync(JSON.stringify({ domain: "shop", text: "x".repeat(50_000_000) })).toString(
      "base64",
    );
    await cluster.apply(JSON.stringify({ ...bomb, spec: undefined, compressedSpec }));
    const started = await start();
    expect([await limitIn(started), (await started.read()).resources[0]?.lastGood?.length]).toEqual([8, 1]);
  });

  it("prefers the newest, and serves none when all are deleted", async () => {
    await keep({ requestsPerUnit: 1 });
    const newest = await keep({ requestsPerUnit: 2, unit: "hour" });
    const started = await start();
    expect([await limitIn(started), (await started.read()).resources[0]?.lastGood?.length]).toEqual([2, 2]);
    await cluster.api.send("DELETE", `${API}/namespaces/default/${REVISION_PLURAL}/${newest}`);
    await eventually("the older revision", async () => expect(await limitIn(started)).toBe(1));
    await cluster.api.send("DELETE", `${API}/namespaces/default/${REVISION_PLURAL}`);
    await eventually("no revision", async () => expect(await limitIn(started)).toBeUndefined());
  });
});
