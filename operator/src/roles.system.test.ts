// Tests of the roles in operator/rbac and of the policy in examples/policies on a real API server, with
// real tokens: what the operator does is allowed, and nothing else.
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import { POD_MONITOR_DEFINITION } from "@weir/harness/kubernetes/foreign-definitions";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import {
  type Act,
  CONFIG,
  CONFIGS,
  FORBIDDEN,
  IN_NAMESPACES,
  lease,
  object,
  OWN,
  REVISION,
  REVISIONS,
  SERVICE,
  SERVICES,
  WEBHOOK,
} from "./role-requests.suite.ts";

const ROOT = join(import.meta.dirname, "../..");

let cluster: KubernetesCluster;
/** Tokens of service accounts, as `namespace/name`. */
const tokens = new Map<string, string>();

function fileOf(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

async function applyAll(...objects: readonly object[]): Promise<void> {
  await cluster.apply(objects.map((each) => JSON.stringify(each)).join("\n---\n"));
}

async function tokenOf(account: string): Promise<string> {
  const known = tokens.get(account);
  if (known !== undefined) return known;
  const [namespace = "", name = ""] = account.split("/");
  const token = await cluster.tokenOf(name, namespace);
  tokens.set(account, token);
  return token;
}

/** The HTTP status and text of the answer to a request of an account. */
async function send(
  account: string,
  method: string,
  path: string,
  body?: { readonly type: string; readonly content: object },
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = {
    authorization: `Bearer ${await tokenOf(account)}`,
    ...(body !== undefined && { "content-type": body.type }),
  };
  const sent = request(cluster.url + path, { method, ca: cluster.caPem, headers, agent: false }, (response) => {
    let text = "";
    response.on("data", (chunk: Buffer) => (text += chunk.toString()));
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    response.on("error", reject);
  });
  sent.on("error", reject).end(body && JSON.stringify(body.content));
  return await promise;
}

/** Resolves to true if the account may do it. Changes nothing. */
async function may(account: string, { verb, path, content = {} }: Act): Promise<boolean> {
  const at = `${path}${path.includes("?") ? "&" : "?"}`;
  const json = { type: "application/json", content };
  const acts: Readonly<Record<string, () => ReturnType<typeof send>>> = {
    list: async () => send(account, "GET", path),
    get: async () => send(account, "GET", path),
    watch: async () => send(account, "GET", `${at}watch=1&timeoutSeconds=1`),
    delete: async () => send(account, "DELETE", `${at}dryRun=All`),
    create: async () => send(account, "POST", `${at}dryRun=All`, json),
    update: async () => send(account, "PUT", `${at}dryRun=All`, json),
    patch: async () => send(account, "PATCH", `${at}dryRun=All`, { type: "application/merge-patch+json", content }),
    apply: async () =>
      send(account, "PATCH", `${at}dryRun=All&fieldManager=test&force=true`, {
        type: "application/apply-patch+yaml",
        content,
      }),
  };
  const answer = await acts[verb]?.();
  if (answer === undefined) throw new Error(`unknown verb ${verb}`);
  if (answer.status === 403) return false;
  // 404 and 409 come after the check of the rights: an absent object is not deleted, an existing one not created.
  expect([verb, path, answer.text, answer.status < 300 || [404, 409].includes(answer.status)]).toEqual([
    verb,
    path,
    answer.text,
    true,
  ]);
  return true;
}

const OPERATOR = "weir-system/weir-operator";

async function refusedOf(account: string, acts: readonly Act[]): Promise<readonly string[]> {
  const results = await Promise.all(acts.map(async (act) => ({ act, isAllowed: await may(account, act) })));
  return results.filter(({ isAllowed }) => !isAllowed).map(({ act }) => textOf(act));
}

function textOf({ verb, path }: Act): string {
  return `${verb} ${path}`;
}

beforeAll(async () => {
  cluster = await startKubernetesCluster({ full: true });
  await applyAll(
    ...["weir-system", "web", "other", "shops"].map((name) => object("v1", "Namespace", "", name)),
    ...["viewer", "editor", "admin"].map((name) => object("v1", "ServiceAccount", "web", name)),
  );
  await cluster.installKinds("ratelimitconfigs", "ratelimitservices", "ratelimitconfigrevisions");
  await cluster.apply(POD_MONITOR_DEFINITION);
  const roles = ["service-account", "cluster-role", "own-namespace", "webhook", "tenant-roles"];
  await cluster.apply(roles.map((name) => fileOf(`operator/rbac/${name}.yaml`)).join("\n---\n"));
  await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
  await eventually("objects to be stored", async () =>
    applyAll(
      CONFIG("web"),
      SERVICE("web"),
      lease("weir-operator"),
      lease("other"),
      ...["password", "weir-ratelimit-tls"].map((name) => object("v1", "Secret", "web", name)),
      ...["password", "weir-ca"].map((name) => object("v1", "Secret", "weir-system", name)),
      object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", "weir"),
    ),
  );
});

afterAll(async () => {
  await cluster.stop();
});

describe("the roles of the operator", () => {
  it("are enough in its own namespace and for its webhook, and give nothing in others", async () => {
    await eventually("the rights", async () => expect(await refusedOf(OPERATOR, [...OWN, ...WEBHOOK])).toEqual([]));
    const everything = [...IN_NAMESPACES, ...FORBIDDEN];
    expect(await refusedOf(OPERATOR, everything)).toEqual(everything.map(textOf));
  });

  it("are enough in one namespace that they are bound in, and give nothing in others", async () => {
    const file = join(ROOT, "operator/rbac/role-binding.yaml");
    expect(await cluster.kubectl(["apply", "-n", "web", "-f", file])).toMatchObject({ code: 0 });
    await eventually("the rights", async () => expect(await refusedOf(OPERATOR, IN_NAMESPACES)).toEqual([]));
    expect(await refusedOf(OPERATOR, FORBIDDEN)).toEqual(FORBIDDEN.map(textOf));
    const elsewhere = IN_NAMESPACES.filter(({ verb }) => verb === "list").map((act) => ({
      ...act,
      path: act.path.replace("/web/", "/other/"),
    }));
    expect(await refusedOf(OPERATOR, elsewhere)).toEqual(elsewhere.map(textOf));
    expect(await cluster.kubectl(["delete", "-n", "web", "-f", file])).toMatchObject({ code: 0 });
  });

  it("are enough to follow the labels of Namespaces, and give nothing else", async () => {
    const file = join(ROOT, "operator/rbac/namespace-reader.yaml");
    expect(await cluster.kubectl(["apply", "-f", file])).toMatchObject({ code: 0 });
    const follow = ["list", "watch"].map((verb) => ({ verb, path: "/api/v1/namespaces?labelSelector=limits%3Don" }));
    await eventually("the rights", async () => expect(await refusedOf(OPERATOR, follow)).toEqual([]));
    const others = FORBIDDEN.filter((act) => textOf(act) !== "list /api/v1/namespaces");
    expect(await refusedOf(OPERATOR, others)).toEqual(others.map(textOf));
    expect(await cluster.kubectl(["delete", "-f", file])).toMatchObject({ code: 0 });
    await eventually("no rights", async () => expect(await refusedOf(OPERATOR, follow)).toEqual(follow.map(textOf)));
  });

  it("are enough in all namespaces, and nothing more", async () => {
    await cluster.apply(fileOf("operator/rbac/cluster-role-binding.yaml"));
    const everywhere = IN_NAMESPACES.filter(({ verb }) => verb === "list" || verb === "watch").map((act) => ({
      ...act,
      path: act.path.replace("/namespaces/web", ""),
    }));
    await eventually("the rights", async () =>
      expect(await refusedOf(OPERATOR, [...everywhere, ...IN_NAMESPACES])).toEqual([]),
    );
    expect(await refusedOf(OPERATOR, FORBIDDEN)).toEqual(FORBIDDEN.map(textOf));
  });
});

describe("the roles of tenants", () => {
  const reads: readonly Act[] = [CONFIGS, SERVICES, REVISIONS].flatMap((path) => [
    { verb: "list", path },
    { verb: "watch", path },
  ]);
  const writes: readonly Act[] = [
    { verb: "apply", path: `${CONFIGS}/shop`, content: CONFIG("web") },
    { verb: "create", path: CONFIGS, content: CONFIG("web", "third") },
    { verb: "delete", path: `${CONFIGS}/shop` },
    { verb: "apply", path: `${SERVICES}/edge`, content: SERVICE("web") },
    { verb: "delete", path: `${SERVICES}/edge` },
    { verb: "patch", path: `${SERVICES}/edge/scale`, content: { spec: { replicas: 1 } } },
  ];
  const never: readonly Act[] = [
    ...IN_NAMESPACES.filter(({ path }) => path.endsWith("/status")),
    { verb: "list", path: CONFIGS.replace("/web/", "/other/") },
    { verb: "create", path: CONFIGS.replace("/web/", "/other/"), content: CONFIG("other") },
    { verb: "create", path: REVISIONS, content: REVISION },
    { verb: "apply", path: `${REVISIONS}/shop`, content: REVISION },
    { verb: "delete", path: `${REVISIONS}/shop` },
  ];

  it.each([
    { role: "view", account: "web/viewer", allowed: reads, refused: [...writes, ...never] },
    { role: "edit", account: "web/editor", allowed: [...reads, ...writes], refused: never },
    { role: "admin", account: "web/admin", allowed: [...reads, ...writes], refused: never },
  ])("are part of $role", async ({ role, account, allowed, refused }) => {
    const binding = ["create", "rolebinding", role, "-n", "web", `--clusterrole=${role}`];
    expect(await cluster.kubectl([...binding, `--serviceaccount=${account.replace("/", ":")}`])).toMatchObject({
      code: 0,
    });
    await eventually("the rights", async () => expect(await refusedOf(account, allowed)).toEqual([]));
    expect(await refusedOf(account, refused)).toEqual(refused.map(textOf));
  });
});

describe("the policy of fleets", () => {
  const apply = async (namespace: string, name: string, fleet: string | undefined, ...flags: readonly string[]) => {
    const spec = { backend: { type: "memory" }, replicas: 1, fleet };
    const service = object("ratelimit.weir.dev/v1alpha1", "RateLimitService", namespace, name, { spec });
    return await cluster.kubectl(["apply", "--server-side", ...flags, "-f", "-"], JSON.stringify(service));
  };

  beforeAll(async () => {
    // Stored before the policy, which would refuse it.
    expect(await apply("other", "early", "gold")).toMatchObject({ code: 0 });
    await cluster.apply(fileOf("examples/policies/fleets-of-namespaces.yaml"));
    await cluster.kubectl(["annotate", "namespace", "shops", "ratelimit.weir.dev/fleets=gold, eu-*,"]);
    await eventually("the policy", async () =>
      expect((await apply("other", "any", "gold", "--dry-run=server")).stderr).toContain("may not have"),
    );
  });

  it.each([
    { what: "no fleet", fleet: undefined },
    { what: "a fleet of its own namespace", fleet: "shops.other" },
    { what: "a listed fleet", fleet: "gold" },
    { what: "a fleet that a pattern matches", fleet: "eu-west" },
  ])("allows $what", async ({ fleet }) => {
    expect(await apply("shops", "allowed", fleet, "--dry-run=server")).toMatchObject({ code: 0, stderr: "" });
  });

  it.each([
    { namespace: "shops", fleet: "web.late", may: "shops.*, gold, eu-*" },
    { namespace: "shops", fleet: "silver", may: "shops.*, gold, eu-*" },
    { namespace: "other", fleet: "gold", may: "other.*" },
    { namespace: "other", fleet: "other", may: "other.*" },
  ])("refuses $fleet in $namespace, and names what it may have", async ({ namespace, fleet, may: list }) => {
    const { code, stderr } = await apply(namespace, "squatter", fleet);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `the namespace ${namespace} may not have the fleet ${fleet}, it may have ${list} (annotation ratelimit.weir.dev/fleets of the Namespace)`,
    );
  });

  it("leaves services that exist to their owners", async () => {
    const { code, stderr } = await cluster.kubectl(["annotate", "rls", "early", "-n", "other", "seen=yes"]);
    expect([code, stderr]).toEqual([0, ""]);
  });
});

describe("the policy of domains", () => {
  const apply = async (namespace: string, domain: string, ...flags: readonly string[]) =>
    cluster.kubectl(
      ["apply", "--server-side", ...flags, "-f", "-"],
      JSON.stringify(CONFIG(namespace, `c-${domain}0`, domain)),
    );

  beforeAll(async () => {
    await cluster.apply(fileOf("examples/policies/domains-of-namespaces.yaml"));
    await cluster.kubectl(["annotate", "namespace", "shops", "ratelimit.weir.dev/domains=shop, web-*,"]);
    // The API server compiles a policy somewhat after it is stored.
    await eventually("the policy", async () =>
      expect((await apply("other", "any", "--dry-run=server")).stderr).toContain("may not claim"),
    );
  });

  it.each(["shops.late", "shop", "web-", "web-eu"])("allows the domain %s of its namespace", async (domain) => {
    expect(await apply("shops", domain)).toMatchObject({ code: 0, stderr: "" });
  });

  it.each([
    { namespace: "shops", domain: "shops", may: "shops.*, shop, web-*" },
    { namespace: "shops", domain: "web", may: "shops.*, shop, web-*" },
    { namespace: "other", domain: "shops.late", may: "other.*" },
  ])("refuses $domain in $namespace, and names what it may claim", async ({ namespace, domain, may: allowed }) => {
    const { code, stderr } = await apply(namespace, domain);
    expect(code).toBe(1);
    expect(stderr).toContain(
      `the namespace ${namespace} may not claim the domain ${domain}, it may claim ${allowed} (annotation ratelimit.weir.dev/domains of the Namespace)`,
    );
  });

  it("leaves resources that exist to their owners", async () => {
    const { code, stderr } = await cluster.kubectl(["annotate", "rlc", "shop", "-n", "web", "seen=yes"]);
    expect([code, stderr]).toEqual([0, ""]);
  });
});

describe("the policy of definitions", () => {
  const definition = "ratelimitservices.ratelimit.weir.dev";
  const deletion = async (name = definition) => cluster.kubectl(["delete", "crd", name, "--dry-run=server"]);

  beforeAll(async () => {
    await cluster.apply(fileOf("examples/policies/definitions-kept.yaml"));
    await eventually("the policy", async () => expect((await deletion()).code).toBe(1));
  });

  it("keeps a definition, and names what would be deleted with it", async () => {
    expect((await deletion()).stderr).toContain(
      `deleting ${definition} would delete every RateLimitService of the cluster; set its annotation ratelimit.weir.dev/allow-deletion to "true" first`,
    );
    const all = await cluster.kubectl(["delete", "crd", "--all", "--dry-run=server"]);
    expect(all.stderr).toContain(`deleting ${definition} would delete`);
  });

  it("leaves definitions of others to their owners", async () => {
    expect(await deletion("podmonitors.monitoring.coreos.com")).toMatchObject({ code: 0, stderr: "" });
  });

  it("allows the deletion with the annotation", async () => {
    await cluster.kubectl(["annotate", "crd", definition, "ratelimit.weir.dev/allow-deletion=true"]);
    expect(await deletion()).toMatchObject({ code: 0, stderr: "" });
  });
});
