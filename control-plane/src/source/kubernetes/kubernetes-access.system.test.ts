// Tests of cluster-access.ts and of the roles in control-plane/rbac on a real API server: the rights
// are enough, and all of them are needed.
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";

import { createLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { createTestAuthority } from "../../ads/ads-client.suite.ts";
import { manifest } from "../../translate/manifests.suite.ts";
import { keysOf, limitOf } from "../source.suite.ts";
import type { ClusterConnection } from "@weir/kubernetes/access/cluster-access";
import { applyConfig, openSource, RESTARTS_TIMEOUT_MS } from "./kubernetes-fixture.suite.ts";
import type { KubernetesSource, NamespaceScope } from "./kubernetes-source.ts";

const RBAC_FOLDER = join(import.meta.dirname, "../../../rbac");

/** Longest wait for the source after the API server was started again, in milliseconds. */
const DEADLINE_MS = 60_000;

/** Longest time until a right that returns takes effect, in milliseconds. */
const RIGHT_RETURNS_MS = 15_000;

/** The user that the account is to the API server. */
const ACCOUNT = "system:serviceaccount:weir-system:weir-control-plane";

let cluster: KubernetesCluster;
let folder: string;
let source: KubernetesSource | undefined;
const warnings: string[] = [];

function rbac(name: string): string {
  return readFileSync(join(RBAC_FOLDER, name), "utf8");
}

beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs");
  await cluster.createNamespaces("default", "weir-system", "team");
  await cluster.apply(rbac("service-account.yaml"));
  await applyConfig(cluster, manifest({ name: "a", domain: "alpha", namespace: "team" }));
  folder = join(cluster.folder, "account");
}, RESTARTS_TIMEOUT_MS);

afterAll(async () => {
  await cluster.stop();
});

/** Removes all permissions of the account. */
async function revokeAll(): Promise<void> {
  await cluster.kubectl([
    ...["delete", "--ignore-not-found", "clusterrole,clusterrolebinding"],
    ...["weir-control-plane", "weir-control-plane-namespaces", "weir-control-plane-definition"],
  ]);
  await cluster.kubectl(["delete", "--ignore-not-found", "--namespace=team", "rolebinding", "weir-control-plane"]);
  for (const verb of ["list", "watch"]) {
    for (const resource of ["ratelimitconfigs", "namespaces"])
      await expectRight(false, verb, resource, resource === "namespaces" ? "" : "team");
  }
}

/**
 * Waits until the API server permits or forbids it to the account: changed roles take effect
 * somewhat later than they are stored.
 */
async function expectRight(isAllowed: boolean, verb: string, resource: string, namespace = ""): Promise<void> {
  const group = resource === "namespaces" ? "" : "ratelimit.weir.dev";
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: ACCOUNT, resourceAttributes: { verb, resource, group, namespace } },
  };
  await eventually(`the right to ${verb} ${resource} to be ${String(isAllowed)}`, async () => {
    const { body } = await cluster.api.send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review);
    expect(body).toMatchObject({ status: { allowed: isAllowed } });
  });
}

/** A token of the account, as kubelet asks for it. */
async function createToken(): Promise<string> {
  return await cluster.tokenOf("weir-control-plane", "weir-system");
}

/** The files that a pod of the account would find. */
async function mountAccount(token?: string): Promise<ClusterConnection> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "token"), token ?? (await createToken()));
  writeFileSync(join(folder, "ca.crt"), cluster.caPem);
  const { hostname: host, port } = new URL(cluster.url);
  return { kind: "in-cluster", host, port: Number(port), folder };
}

async function open(scope: NamespaceScope, connection?: ClusterConnection): Promise<KubernetesSource> {
  const options = { scope, connection: connection ?? (await mountAccount()) };
  const log = createLog({ level: "warn", format: "json", write: (line) => warnings.push(line) });
  source = openSource(cluster, options, log);
  return source;
}

/** Starts the source and waits for the problem that it reports. */
async function problemOfStart(scope: NamespaceScope): Promise<string> {
  const opened = await open(scope);
  void Promise.resolve(opened.start());
  return await eventually("the problem", () => {
    const { problem } = opened.condition();
    if (problem === undefined) throw new Error("there is none");
    return problem;
  });
}

beforeEach(revokeAll);

afterEach(async () => {
  await source?.stop();
  source = undefined;
  warnings.length = 0;
  rmSync(folder, { recursive: true, force: true });
});

describe("the roles of the control plane", () => {
  it("are enough for all namespaces", async () => {
    await cluster.apply(`${rbac("cluster-role.yaml")}---\n${rbac("cluster-role-binding.yaml")}`);
    const opened = await open({ kind: "all" });
    await opened.start();
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
    await applyConfig(cluster, manifest({ name: "a", domain: "alpha", namespace: "team", requestsPerUnit: 31 }));
    await eventually("the change", async () => expect(limitOf(await opened.read(), "team/a")).toBe(31));
  });

  it("are enough for named namespaces without any right in the others", async () => {
    await cluster.apply(rbac("cluster-role.yaml"));
    const { code, stderr } = await cluster.kubectl([
      "apply",
      "--namespace=team",
      "-f",
      join(RBAC_FOLDER, "role-binding.yaml"),
    ]);
    expect([code, stderr]).toEqual([0, ""]);
    const opened = await open({ kind: "named", names: ["team"] });
    await opened.start();
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
    await opened.stop();
    await expectRight(false, "list", "ratelimitconfigs", "default");
    expect(await problemOfStart({ kind: "named", names: ["team", "default"] })).toContain(
      'lacks the verb "list" on "ratelimitconfigs" of API group ratelimit.weir.dev in namespace default, grant it with a role',
    );
  });

  it("are enough for namespaces by label", async () => {
    await cluster.apply(
      ["cluster-role.yaml", "cluster-role-binding.yaml", "namespace-reader.yaml"].map(rbac).join("---\n"),
    );
    expect(await cluster.kubectl(["label", "--overwrite", "namespace", "team", "limits=on"])).toMatchObject({
      code: 0,
    });
    const opened = await open({ kind: "labelled", selector: "limits=on" });
    await opened.start();
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
  });

  it("allow nothing else", async () => {
    await cluster.apply(
      ["cluster-role.yaml", "cluster-role-binding.yaml", "namespace-reader.yaml", "definition-reader.yaml"]
        .map(rbac)
        .join("---\n"),
    );
    const asked = [
      ...["get", "create", "update", "patch", "delete", "deletecollection"].map((verb) => [
        verb,
        "ratelimitconfigs.ratelimit.weir.dev",
      ]),
      ["patch", "ratelimitconfigs.ratelimit.weir.dev", "--subresource=status"],
      ["get", "namespaces"],
      ["list", "secrets"],
      ["list", "configmaps"],
      ["create", "leases.coordination.k8s.io"],
      ["watch", "customresourcedefinitions.apiextensions.k8s.io"],
      ["delete", "customresourcedefinitions.apiextensions.k8s.io/ratelimitconfigs.ratelimit.weir.dev"],
    ];
    for (const verb of ["list", "watch"]) await expectRight(true, verb, "ratelimitconfigs");
    for (const question of asked) {
      const { stdout } = await cluster.kubectl(["auth", "can-i", ...question, `--as=${ACCOUNT}`, "--namespace=team"]);
      expect([question, stdout.trim()]).toEqual([question, "no"]);
    }
    for (const verb of ["list", "watch"]) {
      const { stdout } = await cluster.kubectl([
        "auth",
        "can-i",
        verb,
        "ratelimitconfigs.ratelimit.weir.dev",
        `--as=${ACCOUNT}`,
        "-A",
      ]);
      expect(stdout.trim()).toBe("yes");
    }
  });

  it.each([
    { role: "cluster-role.yaml", verb: "list", resource: "ratelimitconfigs", group: "API group ratelimit.weir.dev" },
    { role: "cluster-role.yaml", verb: "watch", resource: "ratelimitconfigs", group: "API group ratelimit.weir.dev" },
    { role: "namespace-reader.yaml", verb: "list", resource: "namespaces", group: "the core API group" },
    { role: "namespace-reader.yaml", verb: "watch", resource: "namespaces", group: "the core API group" },
  ])(
    "are reported as missing when $verb on $resource is taken away, until it is given back",
    async ({ role, verb, resource, group }) => {
      const roles = ["cluster-role.yaml", "cluster-role-binding.yaml", "namespace-reader.yaml"];
      const other = verb === "list" ? "watch" : "list";
      const without = rbac(role).replace("verbs: [list, watch]", `verbs: [${other}]`);
      expect(without).not.toBe(rbac(role));
      await cluster.apply(roles.map((name) => (name === role ? without : rbac(name))).join("---\n"));
      for (const [name, right] of [
        ["cluster-role.yaml", "ratelimitconfigs"],
        ["namespace-reader.yaml", "namespaces"],
      ] as const) {
        for (const each of ["list", "watch"]) await expectRight(name !== role || each !== verb, each, right);
      }
      expect(await cluster.kubectl(["label", "--overwrite", "namespace", "team", "limits=on"])).toMatchObject({
        code: 0,
      });
      const problem = await problemOfStart({ kind: "labelled", selector: "limits=on" });
      expect(problem).toContain(
        `this account lacks the verb "${verb}" on "${resource}" of ${group} in the whole cluster, grant it with a role`,
      );
      expect(problem).toContain(`User "${ACCOUNT}" cannot ${verb} resource "${resource}"`);
      // Logged once, however many attempts fail, also where lists succeed and watches do not.
      await eventually("more attempts", () => expect(source?.counts().failures.forbidden).toBeGreaterThan(2));
      expect([source?.condition().problem, warnings.length]).toEqual([problem, 1]);
      await cluster.apply(roles.map(rbac).join("---\n"));
      await eventually(
        "no problem",
        async () => {
          expect(source?.condition().problem).toBeUndefined();
          expect(keysOf((await source?.read()) ?? { resources: [], refusals: [] })).toEqual(["team/a"]);
        },
        RIGHT_RETURNS_MS,
      );
    },
  );
});

describe("KubernetesSource", { timeout: RESTARTS_TIMEOUT_MS }, () => {
  beforeEach(async () => {
    await cluster.apply(`${rbac("cluster-role.yaml")}---\n${rbac("cluster-role-binding.yaml")}`);
  });

  it("uses a token that was replaced", async () => {
    const connection = await mountAccount("not.a.token");
    const opened = await open({ kind: "all" }, connection);
    const started = opened.start();
    await eventually(
      "the problem",
      () => expect(opened.condition().problem).toContain("the credentials are not accepted"),
      DEADLINE_MS,
    );
    writeFileSync(join(folder, "token"), `${await createToken()}\n`);
    await started;
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
    // A running watch stays; the next one uses what is in the file by then.
    writeFileSync(join(folder, "token"), "not.a.token");
    await cluster.apiServer.kill();
    await cluster.startApiServer();
    await eventually(
      "the problem",
      () => expect(opened.condition().problem).toContain("the credentials are not accepted"),
      DEADLINE_MS,
    );
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
    writeFileSync(join(folder, "token"), await createToken());
    await applyConfig(cluster, manifest({ name: "a", domain: "alpha", namespace: "team", requestsPerUnit: 47 }));
    await eventually("the change", async () => expect(limitOf(await opened.read(), "team/a")).toBe(47), DEADLINE_MS);
  });

  it("reports that the token is missing, and continues when it exists", async () => {
    const connection = await mountAccount();
    rmSync(join(folder, "token"));
    const opened = await open({ kind: "all" }, connection);
    const started = opened.start();
    await eventually("the problem", () =>
      expect(opened.condition().problem).toMatch(/there are no credentials: ENOENT.*token/),
    );
    writeFileSync(join(folder, "token"), await createToken());
    await started;
  });

  it("does not trust a server whose certificate another authority has signed", async () => {
    const connection = await mountAccount();
    writeFileSync(join(folder, "ca.crt"), (await createTestAuthority()).certPem);
    const opened = await open({ kind: "all" }, connection);
    void Promise.resolve(opened.start());
    await eventually("the problem", () =>
      expect(opened.condition().problem).toMatch(/no answer from .*(certificate|self-signed)/),
    );
  });

  it("runs the program of a kubeconfig for its token, and merges the contexts of several files", async () => {
    const token = await createToken();
    mkdirSync(folder, { recursive: true });
    const users = join(folder, "users.json");
    const rest = join(folder, "rest.json");
    const credential = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } };
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "echo",
      args: [JSON.stringify(credential)],
      interactiveMode: "Never",
    };
    writeFileSync(users, JSON.stringify({ users: [{ name: "account", user: { exec } }], "current-context": "here" }));
    const server = { server: cluster.url, "certificate-authority-data": Buffer.from(cluster.caPem).toString("base64") };
    const contexts = [{ name: "here", context: { cluster: "there", user: "account" } }];
    writeFileSync(
      rest,
      JSON.stringify({ clusters: [{ name: "there", cluster: server }], contexts, "current-context": "other" }),
    );
    const opened = await open({ kind: "all" }, { kind: "kubeconfig", paths: [users, rest] });
    await opened.start();
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
  });

  it("reaches the API server through the proxy of a kubeconfig", async () => {
    const sockets: Socket[] = [];
    const targets: (string | undefined)[] = [];
    const proxy = createServer().on("connect", ({ url }, client: Socket) => {
      targets.push(url);
      const target = connect(Number(new URL(cluster.url).port), "127.0.0.1", () =>
        client.write("HTTP/1.1 200 OK\r\n\r\n"),
      );
      sockets.push(client, target);
      for (const socket of [client, target]) socket.on("error", () => undefined); // Both ends are cut when the test ends.
      target.pipe(client).pipe(target);
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    mkdirSync(folder, { recursive: true });
    const path = join(folder, "config");
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    writeFileSync(path, cluster.kubeconfig({ "proxy-url": proxyUrl }, await createToken()));
    const opened = await open({ kind: "all" }, { kind: "kubeconfig", paths: [path] });
    await opened.start();
    expect(keysOf(await opened.read())).toEqual(["team/a"]);
    expect([...new Set(targets)]).toEqual([new URL(cluster.url).host]);
    await opened.stop();
    for (const socket of sockets) socket.destroy();
    await once(proxy.close(), "close");
  });

  it("reports what is wrong in a selector", async () => {
    await cluster.apply(rbac("namespace-reader.yaml"));
    for (const resource of ["namespaces", "ratelimitconfigs"]) await expectRight(true, "list", resource);
    const problem = await problemOfStart({ kind: "labelled", selector: "a in b" });
    expect(problem).toContain("Cannot list namespaces with labels a in b: the server says");
  });

  it("reports how to install the CustomResourceDefinition while it is missing, and continues when it exists", async () => {
    const name = "ratelimitconfigs.ratelimit.weir.dev";
    await cluster.kubectl(["delete", "crd", name]);
    await eventually("the kind to be gone", async () => {
      expect((await cluster.api.send("GET", "/apis/ratelimit.weir.dev/v1alpha1/ratelimitconfigs")).status).toBe(404);
    });
    const opened = await open({ kind: "all" });
    const started = opened.start();
    await eventually("the problem", () => {
      expect(opened.condition().problem).toContain(
        `the CustomResourceDefinition ${name} is not installed in version v1alpha1, install it`,
      );
    });
    await cluster.installKinds("ratelimitconfigs");
    await started;
    await applyConfig(cluster, manifest({ name: "a", domain: "alpha", namespace: "team" }));
    await eventually("the resource", async () => expect(keysOf(await opened.read())).toEqual(["team/a"]));
  });
});
