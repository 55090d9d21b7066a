// `weir top` against control planes as processes, with scripted pods that report.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { ObserveStream } from "@weir/harness/ads/observe-stream";
import { ACK, ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { startSource } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { PROCESS } from "../rollout/rollout-command.ts";
import { runTop } from "./top-command.ts";
import type { TopView } from "./top-view.ts";

const MANIFEST =
  "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: shop}\nspec: {domain: shop, descriptors: [{key: user, rateLimit: {unit: minute, requestsPerUnit: 5}}]}\n";

const USER = { domain: "shop", path: "shop.user" };

interface Replica {
  readonly url: string;
  readonly program: Program;
  readonly stop: () => Promise<void>;
}

let folder: string;
/** The rules that pods count. */
let counted: readonly (typeof USER)[];
const running: { stop(): void | Promise<void> }[] = [];

beforeEach(() => {
  counted = [USER];
  folder = mkdtempSync(join(tmpdir(), "weir-top-"));
  writeFileSync(join(folder, "shop.yaml"), MANIFEST);
});

afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.stop();
  rmSync(folder, { recursive: true });
});

/** Starts a replica with a pod that reports a second each second while it is watched: 5 hits, 3 over the limit. */
async function startReplica(nodeId: string): Promise<Replica> {
  const [consolePort, adsPort] = [await reservePort(), await reservePort()];
  const program = startSource("control-plane/src/main.ts", {
    ...{ SOURCE_DIRECTORY: folder, ADS_PLAINTEXT: "true", ADS_HOST: "127.0.0.1", ADS_PORT: String(adsPort) },
    ...{ HTTP_HOST: "127.0.0.1", HTTP_PORT: "0", CONSOLE_PORT: String(consolePort) },
  });
  const stop = async (): Promise<void> => {
    await program.end();
  };
  running.push({ stop });
  await program.find(/is up/);
  const pod = new ScriptedPod(adsPort, { nodeId, answer: ACK });
  running.push({ stop: () => pod.close() });
  await pod.response(1);
  const stream = pod.observe();
  stream.send({ case: "hello", value: { nodeId, topKeys: 32 } });
  const timer = setInterval(() => report(stream), 1000);
  running.push({ stop: () => clearInterval(timer) });
  return { url: `http://127.0.0.1:${consolePort}`, program, stop };
}

function report(stream: ObserveStream): void {
  const wanted = stream.wanted.at(-1);
  if (wanted?.totals !== true) return;
  const startSeconds = BigInt(Math.floor(Date.now() / 1000) - 1);
  const totals = { decisions: [5], rejections: [3] };
  const byRejections = [{ values: [{ key: "user", shown: { case: "text" as const, value: "ada" } }], count: 3n }];
  const rules = counted.map((rule) => ({ rule, hits: [5], overLimit: [3] }));
  const keys = wanted.keysOf.map((rule) => ({ rule, rejections: 3n, byRejections }));
  stream.send({ case: "observation", value: { startSeconds, stepSeconds: 1, steps: 1, totals, rules, keys } });
}

/** Runs the command; `stop` interrupts it. */
function top(args: readonly string[]) {
  const interrupted = new AbortController();
  const output = { stdout: "", stderr: "" };
  const context = {
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
    signal: interrupted.signal,
    env: {},
  };
  const environment = { ...PROCESS, screen: () => undefined };
  return { output, code: runTop(context, args, environment), stop: () => interrupted.abort() };
}

describe("weir top", () => {
  it("shows what the pods of all replicas count, with their keys", async () => {
    const replicas = [await startReplica("web/pod-1"), await startReplica("web/pod-2")];
    const servers = replicas.flatMap(({ url }) => ["-s", url]);
    const { code, output } = top(["keys", ...servers, "--once", "-o", "json"]);
    expect([await code, output.stderr]).toEqual([0, ""]);
    const { fleets, rules } = JSON.parse(output.stdout) as TopView;
    expect(fleets).toMatchObject([{ name: "web", pods: 2, observedPods: 2 }]);
    expect(rules).toMatchObject([{ ...USER, fleet: "web", limit: "5 per minute", resource: "default/shop" }]);
    expect(rules[0]!.overLimit.total).toBeGreaterThanOrEqual(6);
    expect(rules[0]!.keys?.byRejections).toEqual([
      { values: [{ key: "user", text: "ada", isCut: false }], count: 6, error: 0, share: 1 },
    ]);
  });

  it("prints each second until it is interrupted, and says which replica is lost", async () => {
    const [one, two] = [await startReplica("web/pod-1"), await startReplica("web/pod-2")];
    const { code, output, stop } = top(["-s", one.url, "-s", two.url, "-o", "json"]);
    const last = (): TopView => JSON.parse(output.stdout.trimEnd().split("\n").at(-1)!) as TopView;
    await eventually("both", () => expect(last().fleets[0]?.observedPods).toBe(2));
    await two.stop();
    await eventually("the loss", () => {
      expect(last().replicas[1]!.error).toContain(`Cannot reach ${two.url}`);
      expect(last().fleets[0]?.observedPods).toBe(1);
    });
    stop();
    expect(await code).toBe(2);
  });

  it("shows the keys of a rule that counts for the first time after the start", async () => {
    counted = [];
    const { url } = await startReplica("web/pod-1");
    const { code, output, stop } = top(["keys", "-s", url, "-o", "json"]);
    const views = (): readonly TopView[] =>
      output.stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line) as TopView);
    await eventually("the pod", () => expect(views().at(-1)?.fleets[0]?.observedPods).toBe(1));
    expect(views().at(-1)!.rules).toEqual([]);
    counted = [USER];
    await eventually("the key", () =>
      expect(views().at(-1)!.rules[0]?.keys?.byRejections[0]?.values).toEqual([
        { key: "user", text: "ada", isCut: false },
      ]),
    );
    stop();
    expect(await code).toBe(0);
  });

  it("ends with 2 when the server is not a console", async () => {
    const port = await reservePort();
    const { code, output } = top(["--once", "-s", `http://127.0.0.1:${port}`]);
    expect(await code).toBe(2);
    expect(output.stderr).toContain(`weir top: Cannot reach http://127.0.0.1:${port}: connection refused`);
    expect(output.stdout).toBe("");
  });
});
