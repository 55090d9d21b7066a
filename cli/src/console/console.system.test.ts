// `weir console` with two control planes as processes, a scripted pod on each, and a real browser.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { duplexPair } from "node:stream";
import { text } from "node:stream/consumers";

import { ACK, ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { startSource } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { startBrowser } from "@weir/harness/weir/browser";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { PROCESS, type RolloutEnvironment } from "../rollout/rollout-command.ts";
import { runConsole } from "./console-command.ts";

const MANIFEST =
  "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: shop}\nspec: {domain: shop, descriptors: [{key: user, rateLimit: {unit: minute, requestsPerUnit: 5}}]}\n";

const GET_ROLLOUT = "/weir.rollout.v1.RolloutService/GetRollout";

let folder: string;
const running: { stop(): unknown }[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-console-"));
  writeFileSync(join(folder, "shop.yaml"), MANIFEST);
});

afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.stop();
  rmSync(folder, { recursive: true });
});

interface Replica {
  readonly url: string;
  readonly program: Program;
}

async function startReplica(nodeId: string): Promise<Replica> {
  const [consolePort, adsPort] = [await reservePort(), await reservePort()];
  const program = startSource("control-plane/src/main.ts", {
    ...{ SOURCE_DIRECTORY: folder, ADS_PLAINTEXT: "true", ADS_HOST: "127.0.0.1", ADS_PORT: String(adsPort) },
    ...{ HTTP_HOST: "127.0.0.1", HTTP_PORT: "0", CONSOLE_PORT: String(consolePort) },
  });
  running.push({ stop: () => program.end() });
  await program.find(/is up/);
  const pod = new ScriptedPod(adsPort, { nodeId, answer: ACK });
  running.push({ stop: () => pod.close() });
  await pod.response(1);
  return { url: `http://127.0.0.1:${consolePort}`, program };
}

/** Runs the command without a browser; `end` interrupts it and resolves with its exit code. */
async function start(...servers: readonly string[]) {
  return await run("--no-open", ...servers.flatMap((server) => ["--server", server]));
}

/** Runs the command with these arguments. */
async function run(...args: readonly string[]) {
  return await runWith({}, ...args);
}

/** The same with other replicas. */
async function runWith(replicas: Pick<RolloutEnvironment, "findReplicas">, ...args: readonly string[]) {
  const stop = new AbortController();
  const output = { stdout: "", stderr: "" };
  const context = {
    stdout: (more: string) => (output.stdout += more),
    stderr: (more: string) => (output.stderr += more),
    signal: stop.signal,
    env: {},
  };
  const ended = runConsole(context, args, { ...PROCESS, ...replicas, lookupIntervalMs: 200 });
  const end = async (): Promise<number> => {
    stop.abort();
    return await ended;
  };
  running.push({ stop: end });
  await eventually("the URL", () => expect(output.stdout).toContain("#token="));
  const [url = "", origin = "", token = ""] = /(http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]+)/.exec(output.stdout) ?? [];
  return { url, origin, token, end, output };
}

/** Asks the local server; browsers do not let a page set these headers, and neither does fetch. */
async function ask(
  origin: string,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number | undefined; text: string; cookie: string; csp: string }> {
  const { port } = new URL(origin);
  return await new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      const cookie = response.headers["set-cookie"]?.[0] ?? "";
      const csp = response.headers["content-security-policy"]?.toString() ?? "";
      void text(response).then((read) => resolve({ status: response.statusCode, text: read, cookie, csp }), reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

describe("weir console", () => {
  it("asks replicas over connections that are no sockets, as those to pods of a cluster", async () => {
    const replica = await startReplica("web/pod-1");
    const { hostname, port } = new URL(replica.url);
    const open = async () => {
      const [near, far] = duplexPair();
      far.pipe(connect(Number(port), hostname)).pipe(far);
      return await Promise.resolve(near);
    };
    const target = { label: "weir-system/weir-0", url: replica.url, open };
    const { origin } = await runWith({ findReplicas: async () => await Promise.resolve([target]) }, "--no-open");
    const page = await ask(origin, "/");
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("<title>Weir console</title>")]);
  });

  it("gives its APIs to the browser that has the token, once", async () => {
    const replica = await startReplica("web/pod-1");
    const { origin, token } = await start(replica.url);
    const page = await ask(origin, "/");
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("<title>Weir console</title>")]);
    expect(page.csp).toContain("default-src 'none'; script-src 'self';");
    expect(await ask(origin, "/console/replicas")).toMatchObject({ status: 401 });
    const open = async (body: string) => await ask(origin, "/console/session", { method: "POST", body });
    expect(await open("wrong")).toMatchObject({ status: 401, cookie: "" });
    const { status, cookie } = await open(token);
    expect([status, cookie]).toEqual([
      204,
      expect.stringMatching(/^weir-console-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    expect(await open(token)).toMatchObject({ status: 401, cookie: "" });
    const headers = { cookie: cookie.replace(/;.*/, ""), "content-type": "application/json" };
    expect(await ask(origin, "/console/replicas", { headers })).toMatchObject({ status: 200, text: `["/replicas/0"]` });
    const call = { method: "POST", headers, body: "{}" };
    expect(JSON.parse((await ask(origin, `/replicas/0${GET_ROLLOUT}`, call)).text)).toMatchObject({
      rollout: { pods: [{ nodeId: "web/pod-1" }] },
    });
    for (const path of ["/replicas/0/metrics", "/replicas/0/../metrics", "/status", `/replicas/0${GET_ROLLOUT}/x`])
      expect(await ask(origin, path, call)).toMatchObject({ status: 404 });
    expect(await ask(origin, `/replicas/7${GET_ROLLOUT}`, call)).toMatchObject({
      status: 502,
      text: `{"code":"unavailable","message":"this replica has gone"}`,
    });
  });

  it("refuses other hosts, other origins and other sites, whatever they have", async () => {
    const replica = await startReplica("web/pod-1");
    const { origin, token } = await start(replica.url);
    const { port } = new URL(origin);
    for (const headers of [
      { host: `localhost:${port}` },
      { host: `evil.example:${port}` },
      { host: "127.0.0.1:1" },
      { origin: "http://127.0.0.1:1" },
      { origin: "null" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe" },
    ]) {
      for (const path of ["/", "/console/replicas", `/replicas/0${GET_ROLLOUT}`])
        expect(await ask(origin, path, { headers })).toMatchObject({ status: 403 });
      expect(await ask(origin, "/console/session", { method: "POST", body: token, headers })).toMatchObject({
        status: 403,
      });
    }
    expect(await ask(origin, "/console/session", { method: "POST", body: token, headers: { origin } })).toMatchObject({
      status: 204,
    });
  });

  it("starts the browser with a file that only this user reads, and removes it", async () => {
    const replica = await startReplica("web/pod-1");
    const program = join(folder, "xdg-open");
    writeFileSync(
      program,
      `#!/bin/sh\necho "$@" > ${folder}/arguments.new && mv ${folder}/arguments.new ${folder}/arguments\n`,
    );
    chmodSync(program, 0o755);
    vi.stubEnv("PATH", `${folder}:${process.env["PATH"] ?? ""}`);
    const { url, origin, end } = await run("--server", replica.url);
    vi.unstubAllEnvs();
    const path = await eventually("the browser", () => readFileSync(join(folder, "arguments"), "utf8").trim());
    expect([statSync(path).mode & 0o777, readFileSync(path, "utf8").includes(url)]).toEqual([0o600, true]);
    const browser = await startBrowser();
    running.push({ stop: () => browser.close() });
    const page = await browser.newPage();
    await page.goto(`file://${path}`);
    await page.getByRole("table", { name: "Pods" }).waitFor();
    expect(page.url()).toBe(`${origin}/#/`);
    await end();
    expect(existsSync(path)).toBe(false);
  });

  it("shows the pods of all replicas, says when one is lost, and ends with all that it opened", async () => {
    const replicas = [await startReplica("web/pod-1"), await startReplica("web/pod-2")];
    const { url, origin, end } = await start(...replicas.map((replica) => replica.url));
    const browser = await startBrowser();
    running.push({ stop: () => browser.close() });
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(url);
    const pods = page.getByRole("table", { name: "Pods" });
    await eventually("both pods", async () => {
      expect(await pods.innerText()).toMatch(/web\/pod-1[^]*web\/pod-2/);
    });
    expect(page.url()).toBe(`${origin}/#/`);
    await page.reload();
    await pods.waitFor();
    replicas[1]?.program.kill();
    await eventually("the lost replica", async () => {
      expect(await page.getByRole("status").innerText()).toMatch(
        /^No news from .*: Cannot reach http:.* Connecting again\.$/,
      );
    });
    await eventually("the pod that is left", async () => {
      expect(await pods.innerText()).not.toContain("web/pod-2");
    });
    expect(await end()).toBe(0);
    await page.getByText("The server of this page does not answer: it may have ended.").waitFor();
    expect(complaints).toEqual([]);
  });

  it("refuses an argument that it does not know", async () => {
    const output = { stderr: "" };
    const context = { stdout: () => undefined, stderr: (more: string) => (output.stderr += more), env: {} };
    expect(await runConsole(context as never, ["now"])).toBe(2);
    expect(output.stderr).toBe(`weir console: no argument is expected, there is "now"; see weir console --help\n`);
  });
});
