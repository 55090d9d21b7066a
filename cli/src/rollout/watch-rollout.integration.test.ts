// Tests of `weir rollout --watch` and `--wait` (docs/cli.md): what they print, how they end, and that they
// survive servers that go, come back elsewhere or say nothing.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it } from "vitest";

import { FakeControlPlane, rolloutOf, run, WAIT_MS } from "./rollout.suite.ts";
import type { RolloutInit } from "./rollout.suite.ts";

const running: FakeControlPlane[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function start(rollout: RolloutInit, port?: number): Promise<{ url: string; server: FakeControlPlane }> {
  const server = new FakeControlPlane(rollout);
  running.push(server);
  return { server, url: await server.start(port) };
}

describe("weir rollout --watch", () => {
  it("writes a line for each change, and connects again after the server was gone", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 3 }));
    const { ended, output, abort } = run(["--watch", "-s", url]);
    const said = async (text: string): Promise<void> =>
      await eventually(`the line ${text}`, () => expect(output.stdout).toContain(text), WAIT_MS);
    await said("pod default/gateway-1 (default) pending -\n");
    await said("not complete: 1 pod has not yet ACKed the active version\n");
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    await said("pod default/gateway-1 (default) accepted 0123456789ab\n");
    await said("1 resource served and ACKed by the only pod\n");
    await server.stop();
    await said(`server ${url} fails: `);
    await start(rolloutOf("cp-9", { "gateway-2": 1 }), Number(new URL(url).port));
    await said("pod default/gateway-2 (default) accepted 0123456789ab\n");
    abort.abort();
    expect(await ended).toBe(0);
    expect(output.stderr).toBe("");
    expect(output.stdout.split("\n").every((line) => line === "" || line.startsWith("2026-01-31T12:21:30.000Z "))).toBe(
      true,
    );
  });

  it("says nothing of a connection that is cut and stands again immediately", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const { ended, output, abort } = run(["--watch", "-s", url]);
    for (const connections of [1, 2, 3]) {
      await eventually("a connection", () => expect(server.filters).toHaveLength(connections), WAIT_MS);
      // Waits for a state of this connection, not of an earlier one: the loss of a connection without any
      // state is reported immediately.
      server.change(rolloutOf("cp-0", { [`gateway-${connections}`]: 1 }));
      await eventually(
        "a picture",
        () => expect(output.stdout).toContain(`pod default/gateway-${connections} (default) accepted`),
        WAIT_MS,
      );
      if (connections < 3) server.cut();
    }
    server.change(rolloutOf("cp-0", { "gateway-1": 3 }));
    await eventually("the change", () => expect(output.stdout).toContain("not complete"), WAIT_MS);
    abort.abort();
    await ended;
    expect(output.stdout).not.toMatch(/server \S+ (fails|is gone)/);
    expect(output.stdout.match(/answers/g)).toHaveLength(1);
  });

  it("reports of a server that answered and then takes connections and says nothing", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const { ended, output, abort } = run(["--watch", "-s", url]);
    await eventually("a picture", () => expect(output.stdout).toContain("ACKed by the only pod\n"), WAIT_MS);
    const mute = createServer(() => undefined);
    await server.stop();
    mute.listen(Number(new URL(url).port), "127.0.0.1");
    await eventually("the failure", () => expect(output.stdout).toContain(`server ${url} fails: `), WAIT_MS / 2);
    abort.abort();
    expect(await ended).toBe(2);
    mute.closeAllConnections();
    mute.close();
  });

  it("ends as soon as all is accepted with --wait", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 3 }));
    const { ended, output } = run(["--wait", "-s", url]);
    await eventually("the first state", () => expect(output.stdout).toContain("not complete"), WAIT_MS);
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    expect(await ended).toBe(0);
  });

  it("ends with 1 when the time of --wait is up", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 2 }));
    const { ended, output } = run(["--wait", "--timeout", "5", "-s", url]);
    expect(await ended).toBe(1);
    expect(output.stdout).toContain(
      "pod default/gateway-1 (default) rejected 0123456789ab: invalid rate limit unit 'X'\n",
    );
  });

  it("draws the table anew on a terminal", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 3 }));
    const { ended, output, abort } = run(["-w", "-s", url], { screen: () => ({ columns: 200, rows: 50 }) });
    await eventually("the first table", () => expect(output.stdout).toContain("pending"), WAIT_MS);
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    await eventually("the second table", () => expect(output.stdout.split("\u001b[H")).toHaveLength(3), WAIT_MS);
    abort.abort();
    expect(await ended).toBe(0);
    const last = output.stdout.split("\u001b[H").at(-1) ?? "";
    expect(last).toContain("1 resource served and ACKed by the only pod\u001b[K\n\u001b[J");
  });

  it("writes an object in one line for each state with -o json", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 2 }));
    let lookups = 0;
    const resolve = (): Promise<readonly string[]> => {
      lookups += 1;
      return Promise.resolve([]);
    };
    const named = url.replace("127.0.0.1", "localhost");
    const { ended, output, abort } = run(["-w", "-o", "json", "-s", named], { resolve, lookupIntervalMs: 20 });
    await eventually("the first state", () => expect(output.stdout).toMatch(/\n$/), WAIT_MS);
    const before = lookups;
    // Looking the name up again changes nothing, and so nothing is written: one object parses, two
    // would not.
    await eventually("more looks at the name", () => expect(lookups).toBeGreaterThan(before + 10), WAIT_MS);
    abort.abort();
    expect(await ended).toBe(1);
    expect(JSON.parse(output.stdout)).toMatchObject({ ok: false, pods: [{ pod: "gateway-1", state: "rejected" }] });
  });

  it("waits for a resource that was applied a moment ago", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 1 }, { resources: [] }));
    const { ended, output } = run(["--wait", "-s", url, "default/shop"]);
    await eventually(
      "the first state",
      () => expect(output.stdout).toContain("knows no resource default/shop"),
      WAIT_MS,
    );
    server.change(rolloutOf("cp-0", { "gateway-1": 1 }));
    expect(await ended).toBe(0);
  });

  it("waits for a pod of each fleet that the resource names with --wait, unless --allow-no-pods is given", async () => {
    const shop = (...fleets: readonly string[]): RolloutInit => ({
      resources: [{ namespace: "default", name: "shop", domain: "shop", state: 1, fleets }],
      pods: [
        { pod: "a", fleet: "core", state: 1 },
        { pod: "b", fleet: "edge", state: 1 },
      ],
    });
    const { url, server } = await start(rolloutOf("cp-0", {}, shop("cor", "edge")));
    const late = run(["--wait", "--timeout", "8", "-s", url, "shop"]);
    expect([await late.ended, late.output.stdout.trimEnd().split("\n").at(-1)]).toEqual([
      1,
      "2026-01-31T12:21:30.000Z not complete: no pod of fleet cor is connected (fleets with pods: core, edge)",
    ]);
    const allowed = run(["--wait", "--allow-no-pods", "-s", url, "shop"]);
    expect([await allowed.ended, allowed.output.stdout]).toEqual([0, expect.stringContaining("ACKed by all 2 pods\n")]);
    const { ended, output } = run(["--wait", "-s", url, "shop"]);
    await eventually("the first state", () => expect(output.stdout).toContain("no pod of fleet cor"), WAIT_MS);
    server.change(rolloutOf("cp-0", {}, shop("core", "edge")));
    expect(await ended).toBe(0);
  });

  it("shows what the others say when one server takes connections and never answers", async () => {
    const mute = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const silent = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`;
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const { ended, output, abort } = run(["-w", "-s", url, "-s", silent], { answerTimeoutMs: 2000 });
    await eventually(
      "a picture",
      () => expect(output.stdout).toContain("pod default/gateway-1 (default) accepted"),
      WAIT_MS,
    );
    expect(output.stdout).toContain(`server ${silent} fails: Cannot reach ${silent}: no answer within 2 s\n`);
    abort.abort();
    expect(await ended).toBe(2);
    mute.closeAllConnections();
    mute.close();
  });

  it("says so when the time of --wait is up before anything was answered", async () => {
    const mute = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const silent = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`;
    const { ended, output } = run(["--wait", "--timeout", "1", "-s", silent]);
    expect(await ended).toBe(2);
    expect(output).toEqual({ stdout: "", stderr: `weir rollout: no answer yet from ${silent}\n` });
    mute.closeAllConnections();
    mute.close();
  });

  it("ends when it is interrupted or the time is up, though a name is still looked up", async () => {
    const resolve = async (): Promise<readonly string[]> => await new Promise(() => undefined);
    const silent = "http://control-plane.example:8090";
    const said = { stdout: "", stderr: `weir rollout: no answer yet from ${silent}\n` };
    const watching = run(["--watch", "-s", silent], { resolve });
    watching.abort.abort();
    expect([await watching.ended, watching.output]).toEqual([2, said]);
    const waiting = run(["--wait", "--timeout", "1", "-s", silent], { resolve });
    expect([await waiting.ended, waiting.output]).toEqual([2, said]);
  });

  it("writes an object again only when something has changed", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    let lookups = 0;
    const resolve = (): Promise<readonly string[]> => {
      lookups += 1;
      return Promise.resolve([]);
    };
    const named = url.replace("127.0.0.1", "localhost");
    const { ended, output, abort } = run(["-w", "-o", "json", "-s", named], { resolve, lookupIntervalMs: 20 });
    await eventually("the first state", () => expect(output.stdout).toMatch(/\n$/), WAIT_MS);
    server.cut();
    await eventually("another connection", () => expect(server.filters).toHaveLength(2), WAIT_MS);
    const before = lookups;
    await eventually("time to gather changes", () => expect(lookups).toBeGreaterThan(before + 10), WAIT_MS);
    server.change(rolloutOf("cp-0", { "gateway-1": 2 }));
    await eventually("the change", () => expect(output.stdout).toContain('"state":"rejected"'), WAIT_MS);
    abort.abort();
    await ended;
    expect(output.stdout.trimEnd().split("\n")).toHaveLength(2);
  });

  it("follows a name whose replicas are replaced by others at new addresses", async () => {
    const old = new FakeControlPlane(rolloutOf("cp-0", { "gateway-1": 1 }));
    const young = new FakeControlPlane(rolloutOf("cp-1", { "gateway-1": 3 }));
    running.push(old, young);
    const { port } = new URL(await old.start(0, "127.0.0.2"));
    await young.start(Number(port), "127.0.0.3");
    let addresses: readonly string[] = ["127.0.0.2", "127.0.0.4"];
    const server = `http://control-plane.example:${port}`;
    const { ended, output, abort } = run(["-w", "-s", server], {
      resolve: () => Promise.resolve(addresses),
      lookupIntervalMs: 100,
    });
    const said = async (text: string): Promise<void> =>
      await eventually(`the line ${text}`, () => expect(output.stdout).toContain(text), WAIT_MS);
    await said("pod default/gateway-1 (default) accepted 0123456789ab\n");
    await said(`server ${server} (127.0.0.4) fails: `);
    addresses = ["127.0.0.3"];
    await said(`server ${server} (127.0.0.4) is gone\n`);
    // Its name is gone, and it answers still: it is stopping.
    expect(output.stdout).not.toContain(`server ${server} (127.0.0.2) is gone\n`);
    await old.stop();
    await said(`server ${server} (127.0.0.2) is gone\n`);
    abort.abort();
    await ended;
  });

  it("draws no more than a terminal has room for, and nothing anew on a dumb one", async () => {
    const pods = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`gateway-${index}`, 1 as const]));
    const { url } = await start(rolloutOf("cp-0", pods));
    const small = { columns: 30, rows: 10 };
    const narrow = run(["-w", "-s", url], { screen: () => small });
    await eventually("a table", () => expect(narrow.output.stdout).toContain("\u001b[J"), WAIT_MS);
    narrow.abort.abort();
    await narrow.ended;
    const lines = (narrow.output.stdout.split("\u001b[H")[1] ?? "")
      .replaceAll("\u001b[K", "")
      .replaceAll("\u001b[J", "")
      .split("\n");
    expect(lines).toEqual([
      "FLEET   VERSION        RESOUR…",
      "*       0123456789ab   1     …",
      "",
      "POD                  FLEET   …",
      "default/gateway-0    default …",
      "default/gateway-1    default …",
      "… 22 more lines do not fit",
      "1 resource served and ACKed by",
      " all 20 pods",
      "",
    ]);
    const dumb = run(["-w", "-s", url], { screen: () => small, env: { TERM: "dumb" } });
    await eventually("lines", () => expect(dumb.output.stdout).toContain("ACKed by all 20 pods"), WAIT_MS);
    dumb.abort.abort();
    await dumb.ended;
    expect(dumb.output.stdout).not.toContain("\u001b");
  });
});
