// The previous version on a real node, replaced by this one and brought back under load: first one program after the
// other, so that each version works with each other, then everything by helm.
import { join } from "node:path";

import { SAMPLE_AVATAR } from "@weir/dev/output/guide";
import { fieldsOf, mappingsOf } from "@weir/kubernetes/mapping";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { AuditedRequest } from "@weir/harness/kubernetes/audit-log";
import { installAccounts } from "@weir/harness/node/account-chart";
import { weirImages } from "@weir/harness/node/image-archives";
import { SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { perPath, podUrl, POD_COUNT, type Product, startProduct } from "@weir/harness/node/product";
import { type RealNode, startRealNode } from "@weir/harness/node/real-node";
import { eventually } from "@weir/harness/processes/eventually";
import { ROOT } from "@weir/harness/processes/programs";
import { startMongo } from "@weir/harness/servers/mongo";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { BUILD_TIMEOUT_MS, buildPrevious } from "@weir/harness/weir/earlier-build";
import { spend, startLoad } from "@weir/harness/weir/traffic";

/** Tag of the images of the previous version. */
const PREVIOUS = "previous";

/** Tag of the images of this version: that of the charts. */
const CURRENT = "0.1.0";

/** Time limit of a step, in milliseconds. */
const STEP_TIMEOUT_MS = 300_000;

/** Answers before a step counts as taken under load. */
const LOAD_ANSWERS = 50;

/** Pods of the data plane of the test and of the chart's own. */
const ALL_PODS = POD_COUNT + 1;

/** Kinds that the operator owns besides Secrets. */
const OWNED = "deployments,services,serviceaccounts,poddisruptionbudgets,networkpolicies,secrets";

/** Secrets of the operator. */
const SECRETS = [
  "shop/weir-ratelimit-tls",
  ...["ca", "control-plane-tls", "operator-tls"].map((name) => `weir-system/weir-${name}`),
];

describe("the previous version and this one", () => {
  let node: RealNode | undefined;
  let mongo: StoreServer | undefined;
  let product: Product;
  let previousRoot: string;
  let limit = 10;

  beforeAll(async () => {
    previousRoot = await buildPrevious(process.env, "ratelimit", "control-plane", "operator", "account", "cli");
    const archives = [await weirImages(previousRoot, PREVIOUS), await weirImages()];
    node = await startRealNode();
    for (const archive of archives) await node.importImages(archive);
    await node.helm("install", "weir-crds", join(previousRoot, "charts/weir-crds"), "--create-namespace");
    const tag = ["--set", `image.tag=${PREVIOUS}`];
    await node.helm("install", "weir", join(previousRoot, "charts/weir"), ...tag);
    mongo = await startMongo(node.folder, { host: node.addresses.host });
    await installAccounts(node, mongo, join(previousRoot, "charts"), ...tag);
    product = await startProduct(node);
    await applyLimit();
  }, BUILD_TIMEOUT_MS);

  afterAll(async () => {
    await (product as Product | undefined)?.stop();
    await node?.stop();
    await mongo?.stop();
  });

  it.each([
    { step: "today's control plane, yesterday's pods", user: "ada", change: () => rollControlPlane(CURRENT) },
    { step: "today's pods", user: "grace", change: () => rollPods(CURRENT) },
    { step: "yesterday's control plane, today's pods", user: "edsger", change: () => rollControlPlane(PREVIOUS) },
    { step: "yesterday's pods", user: "barbara", change: () => rollPods(PREVIOUS) },
    { step: "helm upgrade to this version", user: "donald", change: () => upgrade() },
    {
      step: "yesterday's operator with the rights of this version",
      user: "margaret",
      change: () => replaceOperators(PREVIOUS),
    },
    { step: "helm rollback", user: "frances", change: () => rollBack() },
  ])(
    "$step: no failed request, counters kept, an edit arrives",
    async ({ user, change }) => {
      const asUser = { url: `${product.envoy.url}/checkout`, user };
      const traffic = startLoad({ url: `${product.envoy.url}/free`, user: `load-${user}` });
      try {
        await traffic.answers(LOAD_ANSWERS);
        expect(await spend(asUser, limit - 4)).toEqual(Array<number>(limit - 4).fill(200));
        await change();
        expect(await spend(asUser, 5)).toEqual([200, 200, 200, 200, 429]);
        await applyLimit();
        expect(await spend(asUser, 2)).toEqual([200, 429]);
        await traffic.answers(LOAD_ANSWERS);
      } finally {
        expect(await traffic.stop()).toEqual({});
      }
      const isRefused = ({ status }: AuditedRequest): boolean => status === 401 || status === 403;
      expect(node!.cluster.audit().filter(isRefused)).toEqual([]);
    },
    STEP_TIMEOUT_MS,
  );

  it(
    "replaces operators under load without another object of what they own, while statuses stay true",
    async () => {
      const before = await owned();
      for (const secret of SECRETS) expect(before.join("\n")).toContain(`Secret ${secret} `);
      const traffic = startLoad({ url: `${product.envoy.url}/free`, user: "load-operators" });
      try {
        for (const tag of [CURRENT, PREVIOUS]) {
          await traffic.answers(LOAD_ANSWERS);
          await replaceOperators(tag);
          await applyLimit();
          await product.kubectl("wait", "--timeout=60s", "--for=condition=Ready", "rls/core");
          await traffic.answers(LOAD_ANSWERS);
        }
      } finally {
        expect(await traffic.stop()).toEqual({});
      }
      // This version renders other Deployments; all else is as it was.
      expect(await owned()).toEqual(before);
    },
    STEP_TIMEOUT_MS,
  );

  it(
    "helm upgrade and rollback of the account service: accounts and sessions are kept",
    async () => {
      const sessions = [await register("ada@example.com")];
      const changes = [
        () =>
          node!.helm(
            "upgrade",
            "weir-account",
            join(ROOT, "charts/weir-account"),
            "--reuse-values",
            "--set",
            `image.tag=${CURRENT}`,
          ),
        () => node!.helm("rollback", "weir-account", "1"),
      ];
      for (const change of changes) {
        await change();
        for (const cookie of sessions)
          expect((await account("current-user", { headers: { cookie } })).status).toBe(200);
        sessions.push(await register(`grace-${sessions.length}@example.com`));
      }
    },
    STEP_TIMEOUT_MS,
  );

  /** Registers an account and logs it in; returns the cookies of its session. */
  async function register(email: string): Promise<string> {
    const password = "nanoseconds of wire";
    const form = new FormData();
    for (const [name, value] of Object.entries({ email, password })) form.append(name, value);
    form.append("avatar", new Blob([new Uint8Array(SAMPLE_AVATAR)]), "avatar.png");
    expect((await account("register", { method: "POST", body: form })).status).toBe(201);
    const headers = { "content-type": "application/json" };
    const login = await account("login", { method: "POST", headers, body: JSON.stringify({ email, password }) });
    expect(login.status).toBe(200);
    return login.headers
      .getSetCookie()
      .map((cookie) => cookie.split(";")[0])
      .join("; ");
  }

  /** Calls the pod of the account service, when the last change of it has ended. */
  async function account(path: string, init: RequestInit): Promise<Response> {
    const own = ["-n", SYSTEM_NAMESPACE, "--timeout=120s"];
    await node!.kubectl(["rollout", "status", "deployment/weir-account", ...own]);
    const [pod] = (await node!.pods("weir-account", SYSTEM_NAMESPACE)).filter(({ isReady }) => isReady);
    return await fetch(`http://${pod!.address}:8000/api/v1/user/${path}`, init);
  }

  async function rollControlPlane(tag: string): Promise<void> {
    await setImage("weir-control-plane", tag);
  }

  /** Lets the operator replace the pods of the data plane. */
  async function rollPods(tag: string): Promise<void> {
    const image = `ghcr.io/weir-dev/weir-ratelimit:${tag}`;
    await product.kubectl("patch", "rls/core", "--type=merge", "-p", JSON.stringify({ spec: { image } }));
    await untilPodsRun(tag);
  }

  async function upgrade(): Promise<void> {
    // The field that earlier steps have set by hand is the chart's again.
    await product.kubectl("patch", "rls/core", "--type=merge", "-p", JSON.stringify({ spec: { image: null } }));
    await node!.helm("upgrade", "weir-crds", join(ROOT, "charts/weir-crds"));
    await node!.helm("upgrade", "weir", join(ROOT, "charts/weir"), "--set", `image.tag=${CURRENT}`, "--wait");
    await untilPodsRun(CURRENT);
  }

  async function rollBack(): Promise<void> {
    await node!.helm("rollback", "weir", "1", "--wait");
    await untilPodsRun(PREVIOUS);
  }

  /** Replaces operators, and waits until the pods are as theirs are: this version has another deadline for them. */
  async function replaceOperators(tag: string): Promise<void> {
    await setImage("weir-operator", tag);
    await eventually(
      `pods of the operator ${tag}`,
      async () => {
        const deadline = await product.kubectl(
          "get",
          "deployment/core",
          "-o",
          "jsonpath={.spec.progressDeadlineSeconds}",
        );
        expect(deadline === "60").toBe(tag === CURRENT);
      },
      STEP_TIMEOUT_MS,
    );
    await product.kubectl("rollout", "status", "deployment/core", "--timeout=120s");
    await eventually("all pods to be healthy for Envoy", async () =>
      expect(await product.envoy.statistic("cluster.ratelimit.membership_healthy")).toBe(POD_COUNT),
    );
  }

  async function setImage(program: string, tag: string): Promise<void> {
    const deployment = `deployment/${program}`;
    const own = ["-n", SYSTEM_NAMESPACE];
    await node!.kubectl(["set", "image", deployment, ...own, `*=ghcr.io/weir-dev/${program}:${tag}`]);
    await node!.kubectl(["rollout", "status", deployment, ...own, "--timeout=120s"]);
  }

  /** Waits until all pods of the data plane have the image, and Envoy has found them. */
  async function untilPodsRun(tag: string): Promise<void> {
    await eventually(
      `pods of ${tag}`,
      async () => {
        const pods = JSON.parse(await product.kubectl("get", "pods", "-o", "json")) as unknown;
        const images = mappingsOf(fieldsOf(pods)["items"]).map(
          ({ spec }) => mappingsOf(fieldsOf(spec)["containers"])[0]?.["image"],
        );
        expect(images).toEqual(Array<string>(POD_COUNT).fill(`ghcr.io/weir-dev/weir-ratelimit:${tag}`));
      },
      STEP_TIMEOUT_MS,
    );
    await product.kubectl("rollout", "status", "deployment/core", "--timeout=120s");
    await eventually("all pods to be healthy for Envoy", async () =>
      expect(await product.envoy.statistic("cluster.ratelimit.membership_healthy")).toBe(POD_COUNT),
    );
  }

  /** Raises the limit by 2, waits as a user does, and finds it in every pod: one more request passes. */
  async function applyLimit(): Promise<void> {
    limit += 2;
    await product.applyLimits([perPath("/checkout", limit)]);
    // A pod that has lost its stream to a stopped control plane counts again when it is back.
    const summary = `--for=jsonpath={.status.pods.summary}=${ALL_PODS}/${ALL_PODS}`;
    await product.kubectl("wait", "--timeout=60s", summary, "rlc/limits");
    for (const pod of await product.rateLimitPods()) {
      const entries = [
        { key: "path", value: "/checkout" },
        { key: "user", value: "probe" },
      ];
      const body = JSON.stringify({ domain: "shop", descriptors: [{ entries }] });
      const answer = fieldsOf(await (await fetch(`${podUrl(pod)}/json`, { method: "POST", body })).json());
      const [status] = mappingsOf(answer["statuses"]);
      expect(fieldsOf(status?.["currentLimit"])["requestsPerUnit"]).toBe(limit);
    }
  }

  /** Each object of the operator with the version of its content. */
  async function owned(): Promise<readonly string[]> {
    const label = "app.kubernetes.io/managed-by=weir-operator";
    const list = JSON.parse(await node!.kubectl(["get", OWNED, "-A", "-l", label, "-o", "json"])) as unknown;
    return mappingsOf(fieldsOf(list)["items"])
      .map(({ kind, metadata }) => {
        const { namespace, name, uid, generation, resourceVersion } = fieldsOf(metadata);
        // Statuses do not change the generation; kinds without one have no status that changes.
        const version = kind === "Deployment" ? "" : String(generation ?? resourceVersion);
        return `${String(kind)} ${String(namespace)}/${String(name)} ${String(uid)} ${version}`;
      })
      .toSorted();
  }
});
