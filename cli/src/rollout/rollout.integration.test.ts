// Tests of `weir rollout` (docs/cli.md) against servers of the rollout API: what it prints and how it ends.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";

import { afterEach, describe, expect, it } from "vitest";

import { FakeControlPlane, rolloutOf, run } from "./rollout.suite.ts";
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

1 resource served and ACKed by all 2 pods
`,
      stderr: "",
    });
  });

  it("shows warnings below the pod or resource that they are about", async () => {
    const resources = [{ namespace: "web", name: "shop", domain: "shop", state: 1, fleets: ["cor"], warnings: ["no pod of fleet cor is connected to this replica (fleets with pods: default)"] }]; // prettier-ignore
    const pods = [{ pod: "a", fleet: "default", state: 1, warnings: ["no valid resource names its fleet default"] }];
    const { url } = await start(rolloutOf("cp-0", {}, { resources, pods }));
    const { ended, output } = run(["-s", url]);
    expect(await ended).toBe(0);
    expect(output.stdout).toContain("cp-0\n  warning: no valid resource names its fleet default\n");
    expect(output.stdout).toContain("\n  warning: no pod of fleet cor is connected (fleets with pods: default)\n");
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
      "\nnot complete: 1 pod has NACKed the active version; 1 pod has not yet ACKed the active version\n",
    );
  });

  it("asks a replica again that has too much to answer, and gives up when the time for an answer is over", async () => {
    const { url, server } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    server.busy = 2;
    const patient = run(["-s", url]);
    expect([await patient.ended, patient.output.stderr, server.filters.length]).toEqual([0, "", 3]);
    server.busy = 1_000;
    const { ended, output } = run(["-s", url], { answerTimeoutMs: 2_000 });
    expect([await ended, output.stderr]).toEqual([2, `weir rollout: ${url} refuses: too many answers; ask again\n`]);
  });

  it("counts a replica once that it reaches under two names", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    const { ended, output } = run(["-s", url, "-s", url.replace("127.0.0.1", "localhost")]);
    expect(await ended).toBe(0);
    expect(output.stdout).toContain("ACKed by the only pod");
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
      resources: [
        { namespace: "web", name: "x", state: "refused", reason: "InvalidSpec", problems: [{ field: "spec.domain" }] },
      ],
    });
  });

  it("is not content with a resource of which another manifest is refused, and counts a file once that cannot be read", async () => {
    const twice = {
      namespace: "web",
      name: "x",
      state: 1,
      reason: "DuplicateResource",
      problems: [{ message: "is defined twice" }],
    };
    const unreadable = ["x.yaml:1:1", "x.yaml:7:3", "y.yaml:1:1"].map((location) => ({ location, message: "broken" }));
    const { url } = await start(rolloutOf("cp-0", {}, { resources: [twice], unreadable }));
    const { ended, output } = run(["-s", url, "-o", "json"]);
    expect(await ended).toBe(1);
    expect(JSON.parse(output.stdout)).toMatchObject({
      problems: [
        "1 resource is served, but another manifest of the same name is invalid",
        "2 files or objects cannot be read",
      ],
    });
  });

  it("prints the fields of the manual and no others", async () => {
    const { url } = await start(
      rolloutOf("cp-0", { "gateway-1": 2 }, { unreadable: [{ location: "x.yaml", message: "broken" }], fleets: [{ name: "*", version: "0123", resources: 1, bytes: 9n, pods: {}, hold: 2 }] }), // prettier-ignore
    );
    const { ended, output } = run(["-s", url, "-o", "json"]);
    await ended;
    const counts = { total: 1, accepted: 0, rejected: 1, pending: 0 };
    expect(JSON.parse(output.stdout)).toEqual({
      ok: false,
      problems: [
        "newer content of the fleet * is held back: it is larger than pods can receive",
        "1 file or object cannot be read",
        "1 pod has NACKed the active version",
      ],
      replicas: [{ server: url, replica: "cp-0", ready: true, source: "/limits" }],
      fleets: [
        {
          name: "*",
          versions: ["0123"],
          resources: 1,
          holds: ["it is larger than pods can receive"],
          pods: { total: 0, accepted: 0, rejected: 0, pending: 0 },
        },
      ],
      pods: [
        {
          pod: "gateway-1",
          namespace: "default",
          nodeId: "gateway-1-id",
          fleet: "default",
          peer: "",
          state: "rejected",
          connectedAt: "2026-01-31T12:20:00.000Z",
          sent: { version: "0123456789abcdef" },
          rejected: { version: "0123456789abcdef" },
          rejection: "invalid rate limit unit 'X'",
          warnings: [],
          replica: "cp-0",
        },
      ],
      resources: [
        {
          namespace: "default",
          name: "shop",
          domain: "shop",
          generation: 0,
          fleets: [],
          state: "served",
          problems: [],
          servesLastGood: false,
          location: "",
          warnings: [],
          pods: counts,
        },
      ],
      unreadable: [{ location: "x.yaml", message: "broken" }],
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
    expect(output.stdout).toContain(`not complete: Cannot reach ${two.url}`);
    expect(output.stderr).toContain(`Cannot reach ${two.url}: connection refused`);
  });

  it("prints one error of several replicas once, with their names", async () => {
    const { url, server } = await start(rolloutOf("cp-0", {}));
    await server.stop();
    const port = new URL(url).port;
    const resolve = (): Promise<readonly string[]> => Promise.resolve(["127.0.0.2", "127.0.0.3"]);
    const { ended, output } = run(["-s", `http://cp.example:${port}`, "-s", url], { resolve });
    expect(await ended).toBe(2);
    expect(output).toEqual({
      stdout: "",
      stderr: `weir rollout: Cannot reach http://cp.example:${port} (127.0.0.2): connection refused (connect ECONNREFUSED 127.0.0.2:${port}); the same: http://cp.example:${port} (127.0.0.3), ${url}\n`,
    });
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
    {
      what: "a port that speaks HTTP/2 only",
      listen: () => createHttp2Server(),
      reason: "it does not answer in HTTP/1.1, is it the HTTP port of a control plane?",
    },
    {
      what: "another API",
      listen: () =>
        createServer((_, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}")),
      reason: "it does not answer as a rollout API, is it the HTTP port of a control plane?",
    },
  ])("asks whether it is the right port when $what answers", async ({ listen, reason }) => {
    const other = listen().listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { ended, output } = run(["-s", url]);
    expect(await ended).toBe(2);
    other.close();
    expect(output.stderr).toContain(`weir rollout: Cannot reach ${url}: ${reason} (`);
  });

  it("lines its columns up also where names have wide characters", async () => {
    const { url } = await start(rolloutOf("cp-0", { 限制: 1, "gateway-1": 1, "e\u0301": 1 }));
    const { ended, output } = run(["-s", url]);
    expect(await ended).toBe(0);
    expect(output.stdout.split("\n").filter((line) => /^(POD|default\/)/.test(line) && !line.includes("shop"))).toEqual(
      [
        "POD                 FLEET     STATE      ACCEPTED       SENT           CONNECTED   REPLICA",
        "default/e\u0301           default   accepted   0123456789ab   0123456789ab   90s         cp-0",
        "default/gateway-1   default   accepted   0123456789ab   0123456789ab   90s         cp-0",
        "default/限制        default   accepted   0123456789ab   0123456789ab   90s         cp-0",
      ],
    );
  });

  it("lets no text of a server reach the terminal as it is", async () => {
    const error = JSON.stringify({ code: "permission_denied", message: "no\u001b]0;x\u0007\nweir: all is well" });
    const other = createServer((_, response) =>
      response.writeHead(403, { "content-type": "application/json" }).end(error),
    );
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { ended, output } = run(["-s", url]);
    expect(await ended).toBe(2);
    other.close();
    expect(output.stderr).toBe(
      `weir rollout: ${url} does not permit this user (no\\u001b]0;x\\u0007 weir: all is well)\n`,
    );
  });

  it("reports what is wrong with its flags, and ends with 2", async () => {
    const { ended, output } = run(["-o", "text"]);
    expect(await ended).toBe(2);
    expect(output).toEqual({
      stdout: "",
      stderr: 'weir rollout: the output must be table or json, is "text"; see weir rollout --help\n',
    });
  });

  it("misses a resource that a replica does not know, or not yet in the generation that is asked for", async () => {
    const shop = { namespace: "web", name: "shop", domain: "shop", state: 1, generation: 3n };
    const one = await start(rolloutOf("cp-0", { "gateway-1": 1 }, { resources: [shop] }));
    const two = await start(rolloutOf("cp-1", {}, { resources: [] }));
    const known = run(["-s", one.url, "web/shop", "--generation", "3"]);
    expect(await known.ended).toBe(0);
    const late = run(["-s", one.url, "web/shop", "--generation", "4"]);
    expect(await late.ended).toBe(1);
    expect(late.output.stdout).toContain(
      "\nnot complete: the replica cp-0 knows web/shop in generation 3, not yet in 4\n",
    );
    const absent = run(["-s", one.url, "-s", two.url, "web/shop"]);
    expect(await absent.ended).toBe(1);
    expect(absent.output.stdout).toContain("\nnot complete: the replica cp-1 knows no resource web/shop\n");
  });

  it("misses a namespace that a replica does not know", async () => {
    const { url } = await start(rolloutOf("cp-0", { "gateway-1": 1 }));
    expect(await run(["-s", url, "-n", "default"]).ended).toBe(0);
    const absent = run(["-s", url, "-n", "typo"]);
    expect(await absent.ended).toBe(1);
    expect(absent.output.stdout).toContain(
      "\nnot complete: the replica cp-0 knows no resource in the namespace typo\n",
    );
  });
});
