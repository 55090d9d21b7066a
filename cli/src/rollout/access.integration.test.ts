// Tests of `weir rollout` (docs/cli.md) against servers with TLS and against proxies that authenticate:
// what is trusted, what is shown, what is told.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type Authority, createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/harness/processes/eventually";
import { startProgram } from "@weir/harness/processes/start-process";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { FakeControlPlane, type FakeControlPlaneOptions, rolloutOf, run, WAIT_MS } from "./rollout.suite.ts";

const DAY_MS = 86_400_000;
const NOW = new Date();

let authority: Authority;
let other: Authority;
beforeAll(async () => {
  authority = await createAuthority({ commonName: "Rollout authority", now: NOW, validDays: 2 });
  other = await createAuthority({ commonName: "Another authority", now: NOW, validDays: 2 });
});

let folder: string;
const running: FakeControlPlane[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-rollout-tls-"));
  write("ca.pem", authority.certPem);
  write("other-ca.pem", other.certPem);
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
  return path;
}

function at(name: string): string {
  return join(folder, name);
}

async function serverTls(names: readonly string[], now = NOW): Promise<NonNullable<FakeControlPlaneOptions["tls"]>> {
  const isAddress = (name: string): boolean => /^[\d.]+$/.test(name);
  const { certPem, keyPem } = await authority.issue({
    commonName: "control-plane",
    dnsNames: names.filter((name) => !isAddress(name)),
    ipAddresses: names.filter(isAddress),
    usage: "server",
    now,
    validDays: 1,
  });
  return { cert: certPem, key: keyPem };
}

async function writeClient(issuer: Authority, name: string): Promise<readonly string[]> {
  const { certPem, keyPem } = await issuer.issue({
    commonName: name,
    dnsNames: [name],
    usage: "client",
    now: NOW,
    validDays: 1,
  });
  return ["--cert-file", write(`${name}.pem`, certPem), "--key-file", write(`${name}.key`, keyPem)];
}

async function start(options: FakeControlPlaneOptions): Promise<{ url: string; server: FakeControlPlane }> {
  const server = new FakeControlPlane(rolloutOf("cp-0", { "gateway-1": 1 }), options);
  running.push(server);
  return { server, url: await server.start() };
}

/** Runs to the end; what it printed is its code and its last line. */
async function outcome(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { ended, output } = run(args);
  return { code: await ended, ...output };
}

describe("weir rollout over TLS", () => {
  it("trusts the authority of --ca-file", async () => {
    const { url } = await start({ tls: await serverTls(["127.0.0.1"]) });
    expect(await outcome(["-s", url, "--ca-file", at("ca.pem")])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("ACKed by the only pod") as string,
      stderr: "",
    });
  });

  it.each([
    { what: "the machine's own authorities", args: [] },
    { what: "another authority", args: ["--ca-file", "other-ca.pem"] },
  ])("says what to give when it trusts only $what", async ({ args }) => {
    const { url } = await start({ tls: await serverTls(["127.0.0.1"]) });
    const { code, stderr } = await outcome(["-s", url, ...args.map((arg) => (arg.endsWith(".pem") ? at(arg) : arg))]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^weir rollout: Cannot reach https:\/\/127\.0\.0\.1:\d+: its certificate is not from a trusted authority, name one with --ca-file \(.+\)\n$/,
    );
  });

  it("says that a certificate is for another name, and takes that name with --server-name", async () => {
    const { url } = await start({ tls: await serverTls(["weir-control-plane.weir.svc"]) });
    const { code, stderr } = await outcome(["-s", url, "--ca-file", at("ca.pem")]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `Cannot reach ${url}: its certificate is for DNS:weir-control-plane.weir.svc, which --server-name can name (`,
    );
    const named = await outcome(["-s", url, "--ca-file", at("ca.pem"), "--server-name", "weir-control-plane.weir.svc"]);
    expect(named).toMatchObject({ code: 0, stderr: "" });
  });

  it("checks the certificate against the name in the URL, whatever the header host says", async () => {
    const { url, server } = await start({ tls: await serverTls(["127.0.0.1", "localhost"]) });
    const more = ["--ca-file", at("ca.pem"), "-H", "Host: other.example"];
    for (const named of [url, url.replace("127.0.0.1", "localhost")])
      expect(await outcome(["-s", named, ...more])).toMatchObject({ code: 0 });
    expect(server.headers.map(({ host }) => host)).toEqual(["other.example", "other.example"]);
    const other = await start({ tls: await serverTls(["other.example"]) });
    const { code, stderr } = await outcome(["-s", other.url, ...more]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      `Cannot reach ${other.url}: its certificate is for DNS:other.example, which --server-name can name (`,
    );
  });

  it("says that a certificate has expired", async () => {
    const { url } = await start({ tls: await serverTls(["127.0.0.1"], new Date(NOW.getTime() - 2 * DAY_MS)) });
    const { code, stderr } = await outcome(["-s", url, "--ca-file", at("ca.pem")]);
    expect(code).toBe(2);
    expect(stderr).toContain(`Cannot reach ${url}: its certificate is not valid now (`);
  });

  it("shows its own certificate to a server that wants one", async () => {
    const { url } = await start({
      tls: { ...(await serverTls(["127.0.0.1"])), ca: authority.certPem, requestCert: true },
    });
    const args = ["-s", url, "--ca-file", at("ca.pem"), ...(await writeClient(authority, "admin"))];
    expect(await outcome(args)).toMatchObject({ code: 0, stderr: "" });
  });

  it.each([
    {
      has: "no certificate",
      reason: "it requires a client certificate that it trusts, give one with --cert-file and --key-file (",
    },
    // Node's server only closes the connection then.
    {
      has: "a certificate of a stranger",
      reason: "the connection broke, perhaps it requires a client certificate that it trusts (",
    },
  ])("says what is amiss when it has $has for a server that wants one", async ({ has, reason }) => {
    const { url } = await start({
      tls: { ...(await serverTls(["127.0.0.1"])), ca: authority.certPem, requestCert: true },
    });
    const client = has === "no certificate" ? [] : await writeClient(other, "stranger");
    const { code, stderr } = await outcome(["-s", url, "--ca-file", at("ca.pem"), ...client]);
    expect(code).toBe(2);
    expect(stderr).toContain(`Cannot reach ${url}: ${reason}`);
  });

  it("says that a server does not speak TLS, and that one wants it", async () => {
    const plain = await start({});
    const encrypted = await start({ tls: await serverTls(["127.0.0.1"]) });
    const toPlain = await outcome(["-s", plain.url.replace("http:", "https:"), "--ca-file", at("ca.pem")]);
    expect(toPlain.code).toBe(2);
    expect(toPlain.stderr).toContain(": it does not speak TLS, try http:// (");
    const toEncrypted = await outcome(["-s", encrypted.url.replace("https:", "http:")]);
    expect(toEncrypted.code).toBe(2);
    expect(toEncrypted.stderr).toContain(": the connection broke, perhaps it requires https:// (");
  });

  it("asks every address of a name by that name: in the certificate, and for a proxy before it", async () => {
    const tls = await serverTls(["control-plane.example"]);
    const one = new FakeControlPlane(rolloutOf("cp-0", { "gateway-1": 1 }), { tls });
    const two = new FakeControlPlane(rolloutOf("cp-1", { "gateway-2": 1 }), { tls });
    running.push(one, two);
    const { port } = new URL(await one.start(0, "127.0.0.2"));
    await two.start(Number(port), "127.0.0.3");
    const resolve = (): Promise<readonly string[]> => Promise.resolve(["127.0.0.2", "127.0.0.3"]);
    const { ended, output } = run(["-s", `https://control-plane.example:${port}`, "--ca-file", at("ca.pem")], {
      resolve,
    });
    expect(await ended).toBe(0);
    expect(output.stdout).toContain("ACKed by all 2 pods");
    expect([...one.headers, ...two.headers].map(({ host }) => host)).toEqual([
      `control-plane.example:${port}`,
      `control-plane.example:${port}`,
    ]);
  });

  it("watches with the certificate that is in the files when it connects again", async () => {
    const tls = { ...(await serverTls(["127.0.0.1"])), ca: authority.certPem, requestCert: true };
    const { url, server } = await start({ tls });
    await writeClient(authority, "admin");
    const args = [
      "--watch",
      "-s",
      url,
      "--ca-file",
      at("ca.pem"),
      "--cert-file",
      at("admin.pem"),
      "--key-file",
      at("admin.key"),
    ];
    const { ended, output, abort } = run(args);
    const said = async (text: string): Promise<void> =>
      await eventually(`the line ${text}`, () => expect(output.stdout).toContain(text), WAIT_MS);
    await said("pod default/gateway-1 (default) accepted");
    await server.stop();
    write("admin.key", "no key");
    await said(
      `server ${url} fails: Cannot use the private key file ${at("admin.key")}: it is not a PEM private key without passphrase`,
    );
    await writeClient(authority, "admin");
    const again = new FakeControlPlane(rolloutOf("cp-0", { "gateway-2": 1 }), { tls });
    running.push(again);
    await again.start(Number(new URL(url).port));
    await said("pod default/gateway-2 (default) accepted");
    abort.abort();
    expect(await ended).toBe(0);
  });
});

describe("weir rollout through a proxy", () => {
  it("sends the token of --token-file and headers, and says what is missing", async () => {
    const refuse: FakeControlPlaneOptions["refuse"] = ({ authorization }) =>
      authorization === "Bearer abc.DEF-123_~+/==" ? undefined : 401;
    const { url, server } = await start({ tls: await serverTls(["127.0.0.1"]), refuse });
    const args = ["-s", url, "--ca-file", at("ca.pem")];
    expect(await outcome(args)).toEqual({
      code: 2,
      stdout: "",
      stderr: `weir rollout: ${url} requires authentication: give --token-file, --cert-file or --header (HTTP 401)\n`,
    });
    const token = write("token", "abc.DEF-123_~+/==\n");
    expect(
      await outcome([...args, "--token-file", token, "-H", "X-Team: shop and more", "--header=x-team:  two "]),
    ).toMatchObject({
      code: 0,
    });
    expect(server.headers.at(-1)).toMatchObject({
      authorization: "Bearer abc.DEF-123_~+/==",
      "x-team": "shop and more, two",
    });
    // A header of the user's own is as good.
    expect(await outcome([...args, "-H", "Authorization: Bearer abc.DEF-123_~+/=="])).toMatchObject({ code: 0 });
  });

  it("sends the token of a pipe, which is read once, with every connection", async () => {
    const { url, server } = await start({});
    const command = '"$0" --conditions=source "$1" rollout --watch -s "$2" --token-file <(echo secret)';
    const main = fileURLToPath(new URL("../main.ts", import.meta.url));
    const child = startProgram("bash", ["-c", `exec ${command}`, process.execPath, main, url]);
    await eventually("a connection", () => expect(server.headers).toHaveLength(1), WAIT_MS);
    server.cut();
    await eventually("another connection", () => expect(server.headers).toHaveLength(2), WAIT_MS);
    await child.end();
    expect(server.headers.map(({ authorization }) => authorization)).toEqual(["Bearer secret", "Bearer secret"]);
  });

  it("says that a user may not ask", async () => {
    const { url } = await start({ refuse: () => 403 });
    expect((await outcome(["-s", url])).stderr).toBe(`weir rollout: ${url} does not permit this user (HTTP 403)\n`);
  });

  it("sends a token in the clear to this machine only", async () => {
    const { url, server } = await start({});
    const token = write("token", "secret");
    expect(await outcome(["-s", url, "--token-file", token])).toMatchObject({ code: 0 });
    expect(server.headers[0]?.authorization).toBe("Bearer secret");
    expect(await outcome(["-s", "http://10.9.9.9:1", "--token-file", token])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "weir rollout: --token-file is for servers with https:// or on this machine: http://10.9.9.9:1 would get the token in the clear; see weir rollout --help\n",
    });
  });
});

describe("weir rollout refuses files", () => {
  it.each([
    {
      args: ["--ca-file", "@none.pem"],
      message: "Cannot use the CA certificate file @none.pem: ENOENT: no such file or directory, open '@none.pem'",
    },
    { args: ["--ca-file", "@empty"], message: "Cannot use the CA certificate file @empty: the file is empty" },
    {
      args: ["--ca-file", "@token"],
      message: "Cannot use the CA certificate file @token: it holds no PEM block BEGIN CERTIFICATE",
    },
    {
      args: ["--cert-file", "@admin.pem", "--key-file", "@stranger.key"],
      message: "Cannot use the private key file @stranger.key: it does not belong to the certificate @admin.pem",
    },
    {
      args: ["--token-file", "@none"],
      message: "Cannot use the token file @none: ENOENT: no such file or directory, open '@none'",
    },
    {
      args: ["--token-file", "@empty"],
      message: "Cannot use the token file @empty: it is empty",
    },
    {
      args: ["--token-file", "@ca.pem"],
      message:
        "Cannot use the token file @ca.pem: it must hold one token of letters, digits and -._~+/ and nothing else",
    },
    {
      args: ["--token-file", "@big"],
      message: "Cannot use the token file @big: it has 16385 bytes, at most 16384 are read",
    },
    {
      args: ["--token-file", "/dev/zero"],
      message: "Cannot use the token file /dev/zero: it has more than the 16384 bytes that are read",
    },
    {
      args: ["--token-file", "@"],
      message: "Cannot use the token file @: EISDIR: illegal operation on a directory, read",
    },
  ])("$args", async ({ args, message }) => {
    write("empty", "");
    write("token", "secret");
    write("big", "x".repeat(16_385));
    await writeClient(authority, "admin");
    await writeClient(other, "stranger");
    const { code, stdout, stderr } = await outcome([
      "-s",
      "https://127.0.0.1:1",
      ...args.map((arg) => arg.replace("@", `${folder}/`)),
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.replaceAll(`${folder}/`, "@")).toBe(`weir rollout: ${message}\n`);
    expect(stderr).not.toContain("secret");
  });
});
