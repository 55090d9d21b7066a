// A control plane with scripted pods that report what a busy, partly hostile fleet counts: for the tests of the page.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { silentLog } from "@weir/common/log/log";
import type { ObserveStream } from "@weir/harness/ads/observe-stream";
import { ACK, type Answer, ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { ReadCounters } from "@weir/proto/generated/weir/observe/v1/observe_pb";

import { ControlPlane } from "../control-plane.ts";
import { parseSettings } from "../settings.ts";

/** Texts that become markup, scripts, or other words, where a page does not take them as texts; as long as values may be. */
export const HOSTILE_TEXTS: readonly string[] = [
  "<img src=x onerror=window.hacked=1>",
  "<script>window.hacked=1</script>",
  `"><svg onload=window.hacked=1>`,
  "' onfocus=window.hacked=1 autofocus='",
  "javascript:window.hacked=1",
  "</title><iframe srcdoc='<script>parent.hacked=1</script>'>",
  `\${window.hacked=1}{{constructor.constructor('hacked=1')()}}`,
  "&lt;b&gt;&#60;script&#62;",
  "__proto__",
  "\u202egnp.exe\u2066",
  "long".repeat(16),
];

/** A text that a rule cannot have as its value, and a caller can send. */
const CONTROL_TEXT = "\u0000\u0007\u001b[31m";

/** How often scripted pods report, in milliseconds. */
const REPORT_INTERVAL_MS = 500;

/** The domain of the fleet `web`, whose rules have the texts as values. */
export const DOMAIN = "shop";

/** The control plane. */
export class WatchedFleet {
  readonly #folder: string;
  readonly #pods: ScriptedPod[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #controlPlane: ControlPlane;
  readonly port: number;

  private constructor(controlPlane: ControlPlane, port: number, folder: string) {
    this.#controlPlane = controlPlane;
    this.port = port;
    this.#folder = folder;
  }

  /** Starts it, with these many pods that report and with rules of the hostile texts. */
  static async start(options: { readonly port?: number; readonly rules?: number } = {}): Promise<WatchedFleet> {
    const port = options.port ?? (await reservePort());
    const folder = mkdtempSync(join(tmpdir(), "weir-page-"));
    const values = [...HOSTILE_TEXTS, ...Array.from({ length: options.rules ?? 20 }, (_, index) => `tenant-${index}`)];
    writeManifest(folder, "shop", DOMAIN, values);
    writeManifest(folder, "mail", "mail", ["free", "paid"]);
    writeFileSync(
      join(folder, "broken.yaml"),
      "kind: RateLimitConfig\nmetadata: {name: '<b>broken'}\nspec: {domain: 7}\n",
    );
    const settings = parseSettings({
      ...{ SOURCE_DIRECTORY: folder, ADS_PLAINTEXT: "true", CONSOLE_PORT: String(port) },
      ...{ ADS_HOST: "127.0.0.1", ADS_PORT: "0", HTTP_HOST: "127.0.0.1", HTTP_PORT: "0" },
    });
    const controlPlane = new ControlPlane({ log: silentLog(), clock: Date.now, tracer: undefined }, settings);
    await controlPlane.lifecycle.start();
    return new WatchedFleet(controlPlane, port, folder);
  }

  /** A pod that reports: for each hostile text a rule that rejects, and keys of these texts. */
  async addPod(nodeId: string): Promise<ScriptedPod> {
    const pod = await this.#connect(nodeId, ACK);
    const stream = pod.observe();
    stream.send({ case: "hello", value: { nodeId, topKeys: 32, readsCounters: true } });
    await eventually("the first answer", () => {
      if (stream.wanted.length === 0) throw new Error("the stream has no answer yet");
    });
    let hasPast = false;
    let answered = 0;
    const timer = setInterval(() => {
      const read = stream.wanted.findLast((wanted) => wanted.read !== undefined)?.read;
      if (read !== undefined && read.id !== answered) {
        answered = read.id;
        stream.send({ case: "counters", value: countersOf(read) });
      }
      const isWanted = stream.wanted.at(-1)?.totals === true;
      if (isWanted) report(stream, hasPast ? 1 : 10);
      hasPast = isWanted;
    }, REPORT_INTERVAL_MS);
    this.#timers.push(timer);
    return pod;
  }

  /** A pod that reports nothing, and answers so. */
  async addSilentPod(nodeId: string, answer: Answer = ACK): Promise<ScriptedPod> {
    return await this.#connect(nodeId, answer);
  }

  /** Writes a resource, and waits until it is published: what is published first is no change. */
  async addResource(name: string, domain: string, values: readonly string[]): Promise<void> {
    const changes = await this.#changes();
    writeManifest(this.#folder, name, domain, values);
    await eventually("the change", async () => {
      if ((await this.#changes()) === changes) throw new Error("no change is published yet");
    });
  }

  async #changes(): Promise<number> {
    const url = `http://127.0.0.1:${this.port}/weir.console.v1.ConsoleService/ListChanges`;
    const answer = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
    return ((await answer.json()) as { readonly changes?: readonly unknown[] }).changes?.length ?? 0;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    for (const pod of this.#pods) pod.close();
    await this.#controlPlane.lifecycle.stop();
    rmSync(this.#folder, { recursive: true });
  }

  async #connect(nodeId: string, answer: Answer): Promise<ScriptedPod> {
    const pod = new ScriptedPod(this.#controlPlane.ads.address()?.port ?? 0, { nodeId, answer });
    this.#pods.push(pod);
    await pod.response(1);
    return pod;
  }
}

function writeManifest(folder: string, name: string, domain: string, values: readonly string[]): void {
  const descriptors = values.map((value) => ({
    key: "user",
    value,
    rateLimit: { unit: "minute", requestsPerUnit: 5 },
  }));
  const resource = {
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: { name },
    spec: { domain, descriptors },
  };
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(resource));
}

/** Sends what a pod counts in steps of so many seconds: of one second the last one, else ten minutes. */
function report(stream: ObserveStream, stepSeconds: 1 | 10): void {
  const now = Math.floor(Date.now() / 1000);
  const steps = stepSeconds === 1 ? 1 : 60;
  const start = stepSeconds === 1 ? now - 1 : Math.floor(now / 10) * 10 - 600;
  const series = (most: number): number[] =>
    Array.from({ length: steps }, (_, step) => Math.round(((most * (step % 12)) / 12) * stepSeconds));
  const names = [...HOSTILE_TEXTS, ...Array.from({ length: 20 }, (_, index) => `tenant-${index}`)].map((value) => ({
    domain: DOMAIN,
    path: `${DOMAIN}.user_${value}`,
  }));
  const counts = stepSeconds === 1 ? [40] : series(40);
  const rules = names.map((rule, index) => ({
    rule,
    hits: counts.map((count) => count * (index + 2)),
    overLimit: counts.map((count) => (index % 3 === 2 ? 0 : count * (index + 1))),
    nearLimit: counts,
    shadowMode: index % 4 === 0 ? counts : [],
  }));
  const wanted = stream.wanted.at(-1)?.keysOf ?? [];
  const keys = wanted.map((rule) => ({
    rule,
    sinceSeconds: BigInt(now - 500),
    byRejections: keysFrom(1000n),
    byHits: keysFrom(5000n),
    rejections: 8000n,
    hits: 50_000n,
  }));
  const totals = {
    decisions: counts.map((count) => count * 20),
    rejections: counts.map((count) => count * 8),
    errors: counts.map((count) => Math.floor(count / 20)),
    latencies: counts.map((count, step) => ({ step, buckets: [count, count * 9, count * 9, count, 0, 1] })),
  };
  stream.send({
    case: "observation",
    value: { startSeconds: BigInt(start), stepSeconds, steps, totals, rules, keys: stepSeconds === 1 ? keys : [] },
  });
}

/** The counters of a pod with one rule for each user: a value with an odd length has more hits than fit in. */
function countersOf({ id, domain, descriptors }: ReadCounters) {
  const limit = "5 per minute";
  const counts = descriptors.map(({ entries: [entry] }) => ({
    path: `${domain}.user_${entry?.value ?? ""}`,
    limits:
      (entry?.value.length ?? 0) % 2 === 1
        ? [{ limit, capacity: 5, hits: 7n, resetSeconds: 12, retrySeconds: 12 }]
        : [{ limit, capacity: 5, hits: 3n, remaining: 2, resetSeconds: 12 }],
  }));
  return { id, descriptors: counts };
}

function keysFrom(most: bigint) {
  return [...HOSTILE_TEXTS, CONTROL_TEXT, "ada", "bob"].map((text, index) => ({
    values: [
      { key: "user", shown: { case: "text" as const, value: text }, isCut: index % 5 === 4 },
      { key: "remote_address", shown: { case: "hash" as const, value: new Uint8Array([1, 2, 3, 4, 5, 6, 7, index]) } },
    ],
    count: most / BigInt(index + 1),
    error: BigInt(index % 3),
  }));
}
