// Tests of `weir rollout` with replicas of a cluster that have no console listener: it asks their
// HTTP port, and says so. cluster-rollout.node.test.ts has such replicas on a real node.
import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";

import { eventually } from "@weir/harness/processes/eventually";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import { afterEach, describe, expect, it } from "vitest";

import type { Target } from "./rollout-client.ts";
import { FakeControlPlane, rolloutOf, run, WAIT_MS } from "./rollout.suite.ts";

const LABEL = "weir-system/cp-0";
const NOTICE = "weir-system/cp-0 does not listen on port 8092";

const running: FakeControlPlane[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

/** Fails as a port of a pod does on which nothing listens. */
function refuse(): Promise<Duplex> {
  const resource = { ...resourceOf({ group: "", version: "v1", plural: "pods" }, "weir-system"), name: "cp-0" };
  const reason = 'the kubelet says "error forwarding port 8092: connection refused"';
  return Promise.reject(new ApiFailure("unreachable", { verb: "get", resource }, reason));
}

/** A replica of which `ports` are open. */
function replica(ports: { readonly loopback?: string; readonly http?: string }): Target {
  const at = (url: string | undefined): Target => ({
    label: LABEL,
    url: "http://localhost",
    open: async () => {
      if (url === undefined) return await refuse();
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      await once(socket, "connect");
      return socket;
    },
  });
  return { ...at(ports.loopback), fallback: { ...at(ports.http), notice: NOTICE } };
}

async function serve(name: string, refusal?: number): Promise<string> {
  const server = new FakeControlPlane(rolloutOf(name, { "gateway-1": 1 }), { refuse: () => refusal });
  running.push(server);
  return await server.start();
}

async function rollout(target: Target): Promise<{ code: number; stdout: string; stderr: string }> {
  const { ended, output } = run([], { findReplicas: () => Promise.resolve([target]) });
  return { code: await ended, ...output };
}

describe("weir rollout with a replica of a cluster", () => {
  it("asks the console port, and nothing else when it answers", async () => {
    const loopback = await serve("loopback");
    const { code, stdout, stderr } = await rollout(replica({ loopback, http: await serve("http") }));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("loopback\n");
  });

  it("asks the HTTP port of one without a console listener, and says so", async () => {
    const { code, stdout, stderr } = await rollout(replica({ http: await serve("http") }));
    expect([code, stderr]).toEqual([0, `weir rollout: ${NOTICE}\n`]);
    expect(stdout).toContain("http\n");
  });

  it("says of both ports why there is no answer", async () => {
    const { code, stderr } = await rollout(replica({ http: await serve("http", 403) }));
    expect([code, stderr]).toEqual([2, `weir rollout: ${LABEL} does not permit this user (HTTP 403); ${NOTICE}\n`]);
  });

  it("does not ask the HTTP port when the console port refuses", async () => {
    const { code, stderr } = await rollout(replica({ loopback: await serve("cp", 403), http: await serve("http") }));
    expect([code, stderr]).toEqual([2, `weir rollout: ${LABEL} does not permit this user (HTTP 403)\n`]);
  });

  it("watches the HTTP port, and says so once although the connection breaks", async () => {
    const url = await serve("http");
    const [server] = running;
    const { ended, output, abort } = run(["--watch"], {
      findReplicas: () => Promise.resolve([replica({ http: url })]),
    });
    await eventually("a state", () => expect(output.stdout).toContain("ACKed by the only pod"), WAIT_MS);
    server!.cut();
    await eventually("another watch", () => expect(server!.filters).toHaveLength(2), WAIT_MS);
    server!.change(rolloutOf("http", { "gateway-1": 1, "gateway-2": 1 }));
    await eventually("a later state", () => expect(output.stdout).toContain("ACKed by all 2 pods"), WAIT_MS);
    abort.abort();
    expect(await ended).toBe(0);
    expect(output.stderr).toBe(`weir rollout: ${NOTICE}\n`);
  });
});
