// Tests of kubeconfig.ts and cluster-access.ts on real files and programs: the credentials that a
// request to the API server would have.
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ApiClient } from "../client/api-client.ts";
import { type ClusterAccess, namespaceOf, openClusterAccess } from "./cluster-access.ts";

let folder: string;
let nowMs: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-kubeconfig-"));
  nowMs = 0;
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a file and gives its path. */
function write(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

async function open(...paths: readonly string[]): Promise<ClusterAccess> {
  return await openClusterAccess({ kind: "kubeconfig", paths }, () => nowMs, { monotonicMs: () => nowMs });
}

/** The header with the credentials of the next request. */
async function authorizationOf(access: ClusterAccess): Promise<unknown> {
  return (await access.forRequest()).headers["authorization"];
}

/** The answer of a program with a token. */
function credentialOf(token: string): string {
  return JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } });
}

/** A whole kubeconfig of one user. */
function kubeconfig(user: object, cluster: object = { server: "https://10.0.0.1:6443/" }): object {
  return {
    "current-context": "here",
    clusters: [{ name: "there", cluster }],
    contexts: [{ name: "here", context: { cluster: "there", user: "me" } }],
    users: [{ name: "me", user }],
  };
}

describe("openClusterAccess(), with a kubeconfig", () => {
  it("sends the token of tokenFile rather than token, as it is at that moment", async () => {
    write("token", "first\n");
    const access = await open(write("config", kubeconfig({ token: "written here", tokenFile: "token" })));
    expect((await access.forRequest()).server).toBe("https://10.0.0.1:6443");
    expect(await authorizationOf(access)).toBe("Bearer first");
    write("token", "second\n");
    expect(await authorizationOf(access)).toBe("Bearer second");
    rmSync(join(folder, "token"));
    await expect(access.forRequest()).rejects.toThrow(/ENOENT.*token/);
    write("token", "third");
    expect(await authorizationOf(access)).toBe("Bearer third");
  });

  it("reads YAML, and paths relative to the folder of their file", async () => {
    mkdirSync(join(folder, "deep"));
    write("deep/ca.pem", "authority");
    write("deep/cert.pem", "certificate");
    write("deep/key.pem", "key");
    const yaml = [
      "# of a person",
      "%YAML 1.1",
      "---",
      "current-context: &it here",
      "clusters:",
      "- name: there",
      '  cluster: { server: "https://10.0.0.1", certificate-authority: ca.pem, tls-server-name: kubernetes }',
      "contexts: [{ name: *it, context: { cluster: there, user: me } }]",
      "users:",
      "- name: me",
      "  user: { client-certificate: ./cert.pem, client-key: key.pem }",
    ].join("\n");
    const { tls } = await (await open(write("deep/config", yaml))).forRequest();
    expect(tls).toEqual({ ca: "authority", cert: "certificate", key: "key", servername: "kubernetes" });
  });

  it("uses the first file that names an entry, and skips files that are missing", async () => {
    const first = write("first", {
      users: [{ name: "me", user: { token: "of the first" } }],
      contexts: [{ name: "here", context: { cluster: "there", user: "me" } }],
    });
    const second = write("second", kubeconfig({ token: "of the second" }));
    const access = await open(join(folder, "missing"), first, second, write("empty", ""));
    expect(await authorizationOf(access)).toBe("Bearer of the first");
    expect((await access.forRequest()).server).toBe("https://10.0.0.1:6443");
  });

  it("reads the files again when they are a minute old", async () => {
    const path = write("config", kubeconfig({ token: "first" }));
    const access = await open(path);
    write("config", kubeconfig({ token: "second" }));
    nowMs = 59_999;
    expect(await authorizationOf(access)).toBe("Bearer first");
    nowMs = 60_000;
    expect(await authorizationOf(access)).toBe("Bearer second");
  });

  it("ignores entries that the current context does not use, and verifies the server also without a user", async () => {
    const { clusters, contexts } = kubeconfig({}) as { clusters: object[]; contexts: object[] };
    const cluster = { server: "https://10.0.0.1", "certificate-authority-data": "YXV0aG9yaXR5" };
    const config = {
      ...kubeconfig({}, cluster),
      clusters: [{ name: "broken" }, { name: "there", cluster }, ...clusters],
      contexts: [{ name: "here", context: { cluster: "there" } }, ...contexts],
      users: [{ name: "me", user: { "as-groups": ["admins"] } }],
    };
    expect(await (await open(write("config", config))).forRequest()).toEqual({
      server: "https://10.0.0.1",
      headers: {},
      tls: { ca: "authority" },
      proxyUrl: undefined,
    });
  });

  it("sends the name and password of a user, and impersonates", async () => {
    const access = await open(write("config", kubeconfig({ username: "me", password: "secret", as: "other" })));
    const authorization = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    expect((await access.forRequest()).headers).toEqual({ authorization, "Impersonate-User": "other" });
  });

  it("asks the authenticator that the user names", async () => {
    const provider = { name: "gcp", config: { "access-token": "granted", expiry: "2099-01-01T00:00:00Z" } };
    const cluster = { server: "https://10.0.0.1", "certificate-authority-data": btoa("authority") };
    const access = await open(write("config", kubeconfig({ "auth-provider": provider }, cluster)));
    expect(await authorizationOf(access)).toBe("Bearer granted");
    expect((await access.forRequest()).tls).toMatchObject({ ca: "authority" });
  });

  it("uses no TLS for a server with http://, as kubectl", async () => {
    const access = await open(write("config", kubeconfig({}, { server: "http://127.0.0.1:8001" })));
    expect(await access.forRequest()).toMatchObject({ server: "http://127.0.0.1:8001" });
  });

  it("reads an empty text as a missing value, as kubectl writes it", async () => {
    const cluster = { server: "https://10.0.0.1", "proxy-url": "", "certificate-authority": "" };
    const anonymous = {
      ...kubeconfig({}, cluster),
      contexts: [{ name: "here", context: { cluster: "there", user: "" } }],
    };
    const access = await open(write("config", anonymous));
    expect(await authorizationOf(access)).toBeUndefined();
    expect((await access.forRequest()).proxyUrl).toBeUndefined();
    expect(
      await authorizationOf(await open(write("config", kubeconfig({ token: "here", tokenFile: "" }, cluster)))),
    ).toBe("Bearer here");
  });

  it("runs a program once for all requests meanwhile, with a path relative to the folder of its file", async () => {
    write("make-token", `#!/bin/sh\necho run >> ${folder}/runs\necho '${credentialOf("made")}'\n`);
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "./run",
      args: [join(folder, "make-token")],
    };
    write("run", '#!/bin/sh\nexec sh "$1"\n');
    chmodSync(join(folder, "run"), 0o755);
    const access = await open(write("config", kubeconfig({ exec })));
    expect(await Promise.all(Array.from({ length: 20 }, () => authorizationOf(access)))).toEqual(
      Array.from({ length: 20 }, () => "Bearer made"),
    );
    expect(readFileSync(join(folder, "runs"), "utf8")).toBe("run\n");
  });

  it("does not wait for a program indefinitely, and uses its answer when it comes", async () => {
    const fifo = join(folder, "wait");
    const script = `while [ ! -e ${fifo} ]; do sleep 0.02; done; echo '${credentialOf("late")}'`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script] };
    const access = await open(write("config", kubeconfig({ exec })));
    const timeouts = { answerTimeoutMs: 100, silenceTimeoutMs: 100, slowAfterMs: 5000 };
    const client = new ApiClient(access, timeouts, { userAgent: "test" });
    const resource = { group: "", version: "v1", plural: "secrets", namespace: undefined, labelSelector: undefined };
    const request = { verb: "list", resource } as const;
    await expect(
      client.list(request, { limit: 0, continueToken: "" }, new AbortController().signal),
    ).rejects.toMatchObject({
      kind: "unreachable",
      message: "Cannot list secrets in all namespaces: there are no credentials: they have not come for 0.1 s",
    });
    appendFileSync(fifo, "");
    await eventually("the token", async () => expect(await authorizationOf(access)).toBe("Bearer late"));
    await client.close();
  });

  it("kills a program that hangs, fails all requests that wait for it, and runs it again for the next one", async () => {
    const held = join(folder, "held");
    const script = `if mkdir ${held} 2>&-; then while [ -d ${folder} ]; do sleep 0.02; done; fi; echo '${credentialOf("second")}'`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script] };
    const path = write("config", kubeconfig({ exec }));
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [path] }, () => nowMs, {
      programTimeoutMs: 6000, // The second run answers within it, also on a busy machine.
    });
    const message = "the program sh of the kubeconfig did not answer within 6 s and was killed";
    const asked = [authorizationOf(access), authorizationOf(access)];
    for (const waiting of asked) await expect(waiting).rejects.toThrow(message);
    expect(await authorizationOf(access)).toBe("Bearer second");
  });

  it("runs a program again when its credentials have ended or were not accepted, and not before", async () => {
    const runs = join(folder, "runs");
    const status = { token: "$(wc -l < runs)", clientCertificateData: "certificate", clientKeyData: "key" };
    const ending = JSON.stringify({
      kind: "ExecCredential",
      status: { ...status, expirationTimestamp: "1970-01-01T00:00:10Z" },
    });
    const script = `cd ${folder}; echo run >> runs; echo "${ending.replaceAll('"', '\\"')}"`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script] };
    const access = await open(write("config", kubeconfig({ exec })));
    const runsAt = async (atMs: number): Promise<unknown> => {
      nowMs = atMs;
      const authorization = await authorizationOf(access);
      expect(authorization).toBe(`Bearer ${readFileSync(runs, "utf8").split("run").length - 1}`);
      return authorization;
    };
    expect([await runsAt(0), await runsAt(9999), await runsAt(10_000)]).toEqual(["Bearer 1", "Bearer 1", "Bearer 2"]);
    access.renew();
    nowMs = 0;
    expect([await runsAt(0), await runsAt(1)]).toEqual(["Bearer 3", "Bearer 3"]);
    const { tls } = await access.forRequest();
    expect([tls.cert, tls.key]).toEqual(["certificate", "key"]);
  });

  it("passes the variables of the kubeconfig to a program, empty when they have no value", async () => {
    const env = [{ name: "ONE", value: "1" }, { name: "NONE" }];
    const script = `echo '${credentialOf("VALUE")}' | sed "s/VALUE/<$ONE$NONE>/"`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", script], env };
    expect(await authorizationOf(await open(write("config", kubeconfig({ exec }))))).toBe("Bearer <1>");
  });

  it("uses the certificate of a program also through a proxy, but that of the kubeconfig first", async () => {
    const status = { clientCertificateData: "certificate", clientKeyData: "key" };
    const exec = { command: "echo", args: [JSON.stringify({ kind: "ExecCredential", status })] };
    const cluster = { server: "https://10.0.0.1", "proxy-url": "http://10.0.0.2:3128" };
    const shown = async (user: object): Promise<readonly unknown[]> => {
      const { tls, proxyUrl } = await (await open(write("config", kubeconfig(user, cluster)))).forRequest();
      expect(proxyUrl).toBe("http://10.0.0.2:3128");
      return [tls.cert, tls.key];
    };
    expect(await shown({ exec })).toEqual(["certificate", "key"]);
    const [cert, key] = ["written", "its key"].map((text) => Buffer.from(text).toString("base64"));
    expect(await shown({ exec, "client-certificate-data": cert, "client-key-data": key })).toEqual([
      "written",
      "its key",
    ]);
  });

  it("passes the cluster to a program that asks for it", async () => {
    const exec = {
      command: "sh",
      args: ["-c", `echo "$KUBERNETES_EXEC_INFO" > ${folder}/info; echo '${credentialOf("made")}'`],
    };
    const extensions = [{ name: "client.authentication.k8s.io/exec", extension: { audience: "me" } }];
    const cluster = {
      server: "https://10.0.0.1/",
      "tls-server-name": "kubernetes",
      "insecure-skip-tls-verify": false,
      "proxy-url": "",
      extensions,
    };
    const passed = async (user: object, more: object): Promise<unknown> => {
      await (await open(write("config", kubeconfig({ exec: user }, { ...cluster, ...more })))).forRequest();
      return (JSON.parse(readFileSync(join(folder, "info"), "utf8")) as { spec: object }).spec;
    };
    write("ca.pem", "authority");
    const info = {
      server: "https://10.0.0.1/",
      "tls-server-name": "kubernetes",
      "certificate-authority-data": Buffer.from("authority").toString("base64"),
      config: { audience: "me" },
    };
    const asking = { ...exec, provideClusterInfo: true };
    expect(await passed(asking, { "certificate-authority": "ca.pem" })).toEqual({ cluster: info, interactive: false });
    expect(await passed(asking, { "certificate-authority-data": "YQ==" })).toEqual({
      cluster: { ...info, "certificate-authority-data": "YQ==" },
      interactive: false,
    });
    expect(await passed(exec, {})).toEqual({ interactive: false });
  });

  it("sends a token of the kubeconfig rather than that of its program", async () => {
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "echo", args: [credentialOf("made")] };
    expect(await authorizationOf(await open(write("config", kubeconfig({ exec, token: "written" }))))).toBe(
      "Bearer written",
    );
    write("token", "of the file");
    expect(await authorizationOf(await open(write("config", kubeconfig({ exec, tokenFile: "token" }))))).toBe(
      "Bearer of the file",
    );
    expect(await authorizationOf(await open(write("config", kubeconfig({ exec }))))).toBe("Bearer made");
  });

  it.each([
    { what: "no file is there", files: [], reason: "it does not exist" },
    { what: "the text is not YAML", files: ["clusters: ["], reason: /config-0:1: not valid YAML/ },
    { what: "the text is a list", files: ["[]"], reason: /config-0 is not a mapping/ },
    {
      what: "no context is current",
      files: [{ ...kubeconfig({}), "current-context": "" }],
      reason: "no current context is set",
    },
    {
      what: "the current context is missing",
      files: [{ ...kubeconfig({}), contexts: [] }],
      reason: 'there is no context "here", which is the current one',
    },
    {
      what: "the cluster is missing",
      files: [{ ...kubeconfig({}), clusters: [] }],
      reason: 'the current context "here" names no cluster with a server',
    },
    {
      what: "the user is missing",
      files: [{ ...kubeconfig({}), users: [] }],
      reason: 'the current context "here" names a user that does not exist',
    },
    {
      what: "the user is to act for groups",
      files: [kubeconfig({ as: "other", "as-groups": ["admins"] })],
      reason: "as-groups of the current user is not supported",
    },
    {
      what: "the program has no name",
      files: [kubeconfig({ exec: { apiVersion: "client.authentication.k8s.io/v1" } })],
      reason: "the exec of the current user names no command",
    },
  ])("fails immediately when $what", async ({ files, reason }) => {
    const paths =
      files.length === 0 ? [join(folder, "config-0")] : files.map((file, index) => write(`config-${index}`, file));
    const failing = open(...paths);
    await expect(failing).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
    await expect(failing).rejects.toThrow(`Cannot use the kubeconfig ${paths.join(", ")}: `);
    await expect(failing).rejects.toThrow(reason);
  });
});

describe("a chosen context", () => {
  const whole = {
    "current-context": "here",
    clusters: [
      { name: "here", cluster: { server: "https://here" } },
      { name: "there", cluster: { server: "https://there" } },
    ],
    contexts: [
      { name: "here", context: { cluster: "here" } },
      { name: "there", context: { cluster: "there", namespace: "web" } },
    ],
  };

  it.each([
    { context: undefined, server: "https://here", namespace: "default" },
    { context: "there", server: "https://there", namespace: "web" },
  ])("$context gives the server and the namespace", async ({ context, server, namespace }) => {
    const connection = { kind: "kubeconfig", paths: [write("config", whole)], context } as const;
    const access = await openClusterAccess(connection, () => nowMs, { monotonicMs: () => nowMs });
    expect([(await access.forRequest()).server, await namespaceOf(connection)]).toEqual([server, namespace]);
  });

  it("that does not exist is named", async () => {
    const connection = { kind: "kubeconfig", paths: [write("config", whole)], context: "none" } as const;
    await expect(namespaceOf(connection)).rejects.toThrow(/there is no context "none"$/);
  });

  it("of a pod is the namespace of its service account", async () => {
    write("namespace", "team\n");
    expect(await namespaceOf({ kind: "in-cluster", host: "10.0.0.1", port: 443, folder })).toBe("team");
  });
});
