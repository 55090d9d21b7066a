// Runs examples/envoy as its README describes it: a real Envoy with that configuration, only its ports replaced.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { reservePort } from "@weir/testing/reserve-ports";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Envoy } from "../parts/envoy.ts";
import { startEnvoyWith } from "../parts/envoy.ts";
import { type Flow, startFlow } from "../parts/flow.ts";
import { ROOT, runCommand } from "../parts/programs.ts";
import type { Upstream } from "../parts/upstream.ts";
import { startUpstream } from "../parts/upstream.ts";

/** Tried in turn: a user is skipped when the hour ends or Envoy's filter times out while it places its orders. */
const USERS = ["ada", "grace", "edsger", "barbara"] as const;

const CONFIG = readFileSync(join(ROOT, "examples/envoy/envoy.yaml"), "utf8");
const README = readFileSync(join(ROOT, "examples/envoy/README.md"), "utf8");

describe("examples/envoy", () => {
  const folder = makeTemporaryFolder();
  let upstream: Upstream | undefined;
  let flow: Flow | undefined;
  let envoy: Envoy | undefined;

  beforeAll(async () => {
    upstream = await startUpstream();
    const manifest = readFileSync(join(ROOT, "examples/limits/shop-routes.yaml"), "utf8");
    flow = await startFlow(folder.path, { "shop-routes.yaml": manifest });
    const pod = await flow.startPod({ BACKEND_TYPE: "memory" });
    const ports = { 10000: await reservePort(), 10001: upstream.port, 8081: pod.grpcPort };
    envoy = await startEnvoyWith(folder.path, withPorts(CONFIG, ports));
  });

  afterAll(async () => {
    await envoy?.stop();
    await flow?.stop();
    await upstream?.stop();
    folder.remove();
  });

  it("allows as many orders as the README shows and answers the others with 429", async () => {
    const { command, output } = readConsole(README);
    for (const user of USERS) {
      const before = await conditions();
      const asUser = command.replace("http://127.0.0.1:10000", envoy!.url).replace("ada", user);
      const { stdout } = await runCommand(asUser, { cwd: ROOT });
      if ((await conditions()) !== before) continue; // Another hour, or an order without a decision.
      expect(stdout.trim()).toBe(output);
      expect(upstream!.requestsOf(user)).toBe(10);
      return;
    }
    expect.fail(`Each of ${USERS.length} users was interrupted: ${JSON.stringify(await envoy!.rateLimitCounters())}`);
  });

  it("does not limit a request without a user, or to another path", async () => {
    for (const path of ["/checkout", "/"]) {
      const order = `curl -s -o /dev/null -w '%{http_code} ' -X POST ${envoy!.url}${path}`;
      const { stdout } = await runCommand(`for i in $(seq 12); do ${order}; done`, { cwd: ROOT });
      expect(stdout).toBe("200 ".repeat(12));
    }
  });

  /** What must not change while a user places orders: the hour, and Envoy's failed rate limit requests. */
  async function conditions(): Promise<string> {
    const { error = 0 } = await envoy!.rateLimitCounters();
    return `${Math.floor(Date.now() / 3_600_000)} ${error}`;
  }
});

describe("README.md", () => {
  it("shows the configuration of examples/envoy", () => {
    expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(`\`\`\`yaml\n${CONFIG}\`\`\`\n`);
  });

  it("shows the command and the output of examples/envoy", () => {
    expect(readConsole(readFileSync(join(ROOT, "README.md"), "utf8"))).toEqual(readConsole(README));
  });
});

/** `config` with each port replaced, which it names exactly once. */
function withPorts(config: string, ports: Readonly<Record<number, number>>): string {
  return Object.entries(ports).reduce((text, [from, to]) => {
    const parts = text.split(`port_value: ${from} }`);
    expect(parts, `port ${from}`).toHaveLength(2);
    return parts.join(`port_value: ${to} }`);
  }, config);
}

/** The command that places orders, and its output below it. */
function readConsole(page: string): { readonly command: string; readonly output: string } {
  const [, command = "", output = ""] = /^```console\n\$ (.*\/checkout.*)\n(.*)\n```$/m.exec(page) ?? [];
  expect(command).not.toBe("");
  return { command, output };
}
