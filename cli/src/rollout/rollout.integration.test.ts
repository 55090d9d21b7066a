// Tests of `weir rollout` against servers of the rollout API: what it prints, how it ends, and that watching survives a server that goes.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { eventually } from "@weir/testing/eventually";
import { afterEach, describe, expect, it } from "vitest";

import { runRollout } from "./rollout-command.ts";
import { CONNECTED_MS, FakeControlPlane, rolloutOf } from "./rollout.suite.ts";
import type { RolloutInit } from "./rollout.suite.ts";

const WAIT_MS = 20_000;

const running: FakeControlPlane[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function start(rollout: RolloutInit, port?: number): Promise<{ url: string; server: FakeControlPlane }> {
  const server = new FakeControlPlane(rollout);
  running.push(server);
  return { server, url: await server.start(port) };
}

interface Run {
  readonly ended: Promise<number>;
  readonly output: { stdout: string; stderr: string };
  readonly abort: AbortController;
}

function run(args: readonly string[], isTerminal = false): Run {
  const output = { stdout: "", stderr: "" };
  const abort = new AbortController();
  const context = {
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
    signal: abort.signal,
  };
  const environment = { isTerminal: () => isTerminal, nowMs: () => CONNECTED_MS + 90_000, random: () => 0 };
  return { ended: runRollout(context, args, environment), output, abort };
}

describe("weir rollout", () => {
  it("shows one replica, and ends with 0 when all is accepted", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 1, "gateway-2": 1 }));
    const { ended, output } = run(["--server", url]);
    expect(await ended).toBe(0);
    expect(output).toEqual({
      stdout: `FLEET   VERSION        RESOURCES   ACCEPTED   REJECTED   PENDING
*       0123456789ab   1           2/2        0          0

POD                 FLEET     STATE      ACCEPTED       SENT           CONNECTED   REPLICA
default/gateway-1   default   accepted   0123456789ab   0123456789ab   90s         cp-0
default/gateway-2   default   accepted   0123456789ab   0123456789ab   90s         cp-0

RESOURCE       DOMAIN   STATE    PODS   REASON
default/shop   shop     served   2/2    -

1 resource served and accepted by all 2 pods
`,
      stderr: "",
    });
  });

  it("merges replicas, each with its own pods, and ends with 1 while a pod rejects", async () => {
    const one = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const two = await start(rolloutOf("cp-1", { "gateway-2": 2, "gateway-3": 3 }));
    const { ended, output } = run(["-s", one.url, "-s", two.url]);
    expect(await ended).toBe(1);
    expect(output.stdout).toContain("*       0123456789ab   1           1/3        1          1\n");
    expect(output.stdout).toContain(
      "default/gateway-2   default   rejected   -              0123456789ab   90s         cp-1\n  rejected 0123456789ab: invalid rate limit unit 'X'\n",
    );
    expect(output.stdout).toContain(
      "\nnot there yet: 1 pod has rejected the version in force; 1 pod has not yet accepted the version in force\n",
    );
  });

  it("counts a replica once that it reaches under two names", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const { ended, output } = run(["-s", url, "-s", url.replace("127.0.0.1", "localhost")]);
    expect(await ended).toBe(0);
    expect(output.stdout).toContain("accepted by the only pod");
  });

  it("prints one JSON object, and asks only for what is wanted", async () => {
    const { url, server } = await start(
      rolloutOf("cp-0", {}, { resources: [{ namespace: "web", name: "x", state: 2, reason: "InvalidSpec", problems: [{ field: "spec.domain", message: "is required", location: "x.yaml:1:1" }] }] }), // prettier-ignore
    );
    const { ended, output } = run(["-s", url, "-o", "json", "--fleet", "edge", "web/x"]);
    expect(await ended).toBe(1);
    expect(server.filters).toMatchObject([{ fleet: "edge", namespace: "web", name: "x" }]);
    expect(JSON.parse(output.stdout)).toMatchObject({
      ok: false,
      problems: ["1 resource is not served as written"],
      replicas: [{ replica: "cp-0", ready: true }],
      fleets: [{ name: "*", versions: ["0123456789abcdef"] }],
      pods: [],
      resources: [{ namespace: "web", name: "x", state: "refused", reason: "InvalidSpec", problems: [{ field: "spec.domain" }] }],
    });
  });

  it("ends with 2 and one clear line when nothing listens", async () => {
    const { url, server } = await start(rolloutOf("cp-0", {}));
    await server.stop();
    const { ended, output } = run(["-s", url]);
    expect(await ended).toBe(2);
    expect(output.stdout).toBe("");
    expect(output.stderr).toBe(
      `weir rollout: Cannot reach ${url}: connection refused (connect ECONNREFUSED ${url.slice("http://".length)})\n`,
    );
  });

  it("shows what it has, and ends with 2, when one of two does not answer", async () => {
    const one = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const two = await start(rolloutOf("cp-1", {}));
    await two.server.stop();
    const { ended, output } = run(["-s", one.url, "-s", two.url]);
    expect(await ended).toBe(2);
    expect(output.stdout).toContain("default/gateway-1");
    expect(output.stdout).toContain(`not there yet: Cannot reach ${two.url}`);
    expect(output.stderr).toContain(`Cannot reach ${two.url}: connection refused`);
  });

  it("says so when something else answers", async () => {
    const other: Server = createServer((_, response) => response.writeHead(404).end("no"));
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { ended, output } = run(["-s", url]);
    expect(await ended).toBe(2);
    other.close();
    expect(output.stderr).toBe(
      `weir rollout: ${url} answers, but not as a rollout API: is it the HTTP port of a control plane? (HTTP 404)\n`,
    );
  });

  it.each([
    { args: ["-s", "ftp://x"], message: 'a server must be like http://name:8090, is "ftp://x"' },
    { args: ["-o", "text"], message: 'the output must be table or json, is "text"' },
    { args: ["-w", "--wait"], message: "--watch and --wait do not go together" },
    { args: ["--timeout", "1m"], message: 'the timeout must be a whole number of seconds, is "1m"' },
    { args: ["a", "b"], message: "one resource can be named at most, there are 2" },
    { args: ["-n", "b", "a/x"], message: 'the resource a/x is not in the namespace "b"' },
  ])("refuses $args", async ({ args, message }) => {
    const { ended, output } = run(args);
    expect(await ended).toBe(2);
    expect(output.stderr).toBe(`weir rollout: ${message}; weir rollout --help tells more\n`);
  });
});

describe("weir rollout --watch", () => {
  it("writes a line for each change, and connects again after the server was gone", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 3 }));
    const { ended, output, abort } = run(["--watch", "-s", url]);
    const said = async (text: string): Promise<void> =>
      await eventually(`the line ${text}`, () => expect(output.stdout).toContain(text), WAIT_MS);
    await said("pod default/gateway-1 (default) pending -\n");
    await said("not there yet: 1 pod has not yet accepted the version in force\n");
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    await said("pod default/gateway-1 (default) accepted 0123456789ab\n");
    await said("1 resource served and accepted by the only pod\n");
    await server.stop();
    await said(`server ${url} fails: `);
    await start(rolloutOf("cp-9", { "gateway-2": 1 }), Number(new URL(url).port));
    await said("pod default/gateway-2 (default) accepted 0123456789ab\n");
    abort.abort();
    expect(await ended).toBe(0);
    expect(output.stderr).toBe("");
    expect(output.stdout.split("\n").every((line) => line === "" || line.startsWith("2026-01-31T12:21:30.000Z "))).toBe(true);
  });

  it("ends as soon as all is accepted with --wait", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 3 }));
    const { ended, output } = run(["--wait", "-s", url]);
    await eventually("the first state", () => expect(output.stdout).toContain("not there yet"), WAIT_MS);
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    expect(await ended).toBe(0);
  });

  it("ends with 1 when the time of --wait is up", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 2 }));
    const { ended, output } = run(["--wait", "--timeout", "2", "-s", url]);
    expect(await ended).toBe(1);
    expect(output.stdout).toContain("pod default/gateway-1 (default) rejected 0123456789ab: invalid rate limit unit 'X'\n");
  });

  it("draws the table anew on a terminal", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 3 }));
    const { ended, output, abort } = run(["-w", "-s", url], true);
    await eventually("the first table", () => expect(output.stdout).toContain("pending"), WAIT_MS);
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    await eventually("the second table", () => expect(output.stdout.split("\u001b[H")).toHaveLength(3), WAIT_MS);
    abort.abort();
    expect(await ended).toBe(0);
    const last = output.stdout.split("\u001b[H").at(-1) ?? "";
    expect(last).toContain("1 resource served and accepted by the only pod\u001b[K\n\u001b[J");
  });

  it("writes an object in one line for each state with -o json", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 2 }));
    const { ended, output, abort } = run(["-w", "-o", "json", "-s", url]);
    await eventually("the first state", () => expect(output.stdout).toMatch(/\n$/), WAIT_MS);
    abort.abort();
    expect(await ended).toBe(1);
    expect(JSON.parse(output.stdout)).toMatchObject({ ok: false, pods: [{ pod: "gateway-1", state: "rejected" }] });
  });
});
