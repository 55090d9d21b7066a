// Runs faults one after the other under steady traffic, and notes what each of them cost. A fault is over when every
// pod is ready, an edit has reached each of them, and traffic is decided without a mistake again.
import { setTimeout as delay } from "node:timers/promises";

import { eventually } from "../processes/eventually.ts";
import { expect } from "vitest";

import { type Losses, startTraffic, type Traffic } from "../weir/traffic.ts";
import { type Disturbance, editDuring, type EditReport } from "./edit-run.ts";
import { perPath, type Product, type RedisBackend, startInstalledNode, startProduct } from "./product.ts";
import type { RealNode } from "./real-node.ts";

/** A limit that traffic stays below. */
const LARGE = 1_000_000;

/** Longest wait for the end of the effects of a fault, in milliseconds. */
const RECOVERY_TIMEOUT_MS = 120_000;

/** Requests without a mistake that show the end. */
const CLEAN_REQUESTS = 20;

/** Time between two looks at them, in milliseconds. */
const CLEAN_LOOK_MS = 100;

/** User of the traffic. */
const USER = "always";

/** Settings under which no decision is lost to a machine that stands still for a moment. */
const FAULT_FILTER = { failure_mode_deny: false, timeout: "10s" };

/** How long Redis may take for a command meanwhile. */
const FAULT_COMMAND_TIMEOUT = "4s";

/**
 * Most that a fault may cost: nothing; decisions, so that Envoy's `failure_mode_deny: false` allows requests; or also
 * the counters, which begin anew.
 */
export type Cost = "nothing" | "decisions" | "counters";

export interface Fault {
  readonly name: string;
  readonly cost: Cost;
  /** Makes the fault and ends it. */
  readonly happen: () => Promise<void>;
}

type Row = Losses & { readonly fault: string; readonly mayCost: Cost; readonly tookMs: number };

/** Installs Weir on a node of its own, and starts a data plane and traffic. */
export async function startFaultRun(redis?: (host: string) => Promise<RedisBackend>): Promise<FaultRun> {
  const node = await startInstalledNode();
  try {
    const product = await startProduct(node, {
      filter: FAULT_FILTER,
      commandTimeout: FAULT_COMMAND_TIMEOUT,
      ...(redis !== undefined && { redis: await redis(node.addresses.host) }),
    });
    const run = new FaultRun(node, product, Math.round(performance.now() - node.installedMs));
    await run.begin();
    return run;
  } catch (error) {
    await node.stop();
    throw error;
  }
}

/** Traffic, and the table of what faults cost. */
export class FaultRun {
  readonly product: Product;
  /** The node, which the faults may break. */
  readonly node: RealNode;
  /** Time from the installation to the first limited request, in milliseconds. */
  readonly firstLimitedMs: number;
  readonly #rows: Row[] = [];
  #traffic: Traffic | undefined;
  #edits = 0;

  constructor(node: RealNode, product: Product, firstLimitedMs: number) {
    this.node = node;
    this.product = product;
    this.firstLimitedMs = firstLimitedMs;
  }

  /** Applies the limits, and begins to send. */
  async begin(): Promise<void> {
    await this.#edit();
    await this.#useUp();
    this.#traffic = startTraffic(this.product.envoy.url, [
      { path: "/open", user: USER, right: 200 },
      { path: "/closed", user: USER, right: 429 },
    ]);
  }

  /** Lets the fault happen, waits for the end of its effects, and checks that it cost no more than it may. */
  async run({ name, cost, happen }: Fault): Promise<void> {
    await this.#lossesUntilClean();
    const startedMs = performance.now();
    await happen();
    await eventually("every pod to be ready", () => this.#allReady(), RECOVERY_TIMEOUT_MS);
    await eventually("an edit to reach every pod", () => this.#edit(), RECOVERY_TIMEOUT_MS);
    const tookMs = Math.round(performance.now() - startedMs);
    if (cost === "counters") await this.#useUp();
    const losses = await this.#lossesUntilClean();
    this.#rows.push({ fault: name, mayCost: cost, ...losses, tookMs });
    const { failed, wronglyAllowed, wronglyDenied } = losses;
    expect({ failed, wronglyDenied, wronglyAllowed: cost === "nothing" ? wronglyAllowed : 0 }).toEqual({
      failed: 0,
      wronglyDenied: 0,
      wronglyAllowed: 0,
    });
  }

  /** Edits the limits while these disturbances happen, at least so often; the report has the pods that were stale. */
  async editDuring(disturbances: readonly Disturbance[], editsMin: number): Promise<EditReport> {
    return await editDuring(this.product, () => this.#edit(), { disturbances, editsMin });
  }

  /** The table, in Markdown. */
  table(): string {
    const counts = ["Requests", "Failed", "Wrongly denied", "Wrongly allowed"];
    const heads = ["Fault", "May cost", ...counts, "Longest gap", "Over after"];
    const rows = this.#rows.map((row) => [
      ...[row.fault, row.mayCost, row.requests, row.failed, row.wronglyDenied, row.wronglyAllowed],
      ...[`${row.longestGapMs} ms`, `${row.tookMs} ms`],
    ]);
    return [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  }

  /** Ends everything. */
  async stop(): Promise<void> {
    await this.#traffic?.stop();
    await this.product.stop();
    await this.node.stop();
  }

  /** Resolves with the new limit of the open path when the edit is Ready. */
  async #edit(): Promise<number> {
    this.#edits += 1;
    const limit = LARGE + this.#edits;
    await this.product.applyLimits([perPath("/open", limit), perPath("/closed", 1)]);
    return limit;
  }

  /** Uses the limit of the one path up. */
  async #useUp(): Promise<void> {
    await eventually("the limit", async () => expect((await this.product.get("/closed", USER)).status).toBe(429));
  }

  async #allReady(): Promise<void> {
    const waiting = (await this.product.allPods()).filter((pod) => !pod.isReady);
    expect(waiting.map(({ name }) => name)).toEqual([]);
  }

  /** Everything lost since the last look, until a few requests in a row came without a mistake. */
  async #lossesUntilClean(): Promise<Losses> {
    const traffic = this.#traffic!;
    const deadlineMs = performance.now() + RECOVERY_TIMEOUT_MS;
    let all = traffic.take();
    for (let clean = 0; clean < CLEAN_REQUESTS;) {
      if (performance.now() > deadlineMs) throw new Error(`traffic is still decided wrongly: ${JSON.stringify(all)}`);
      await delay(CLEAN_LOOK_MS);
      const losses = traffic.take();
      clean = losses.failed + losses.wronglyAllowed + losses.wronglyDenied === 0 ? clean + losses.requests : 0;
      all = sumOf(all, losses);
    }
    return all;
  }
}

function sumOf(one: Losses, other: Losses): Losses {
  return {
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    wronglyAllowed: one.wronglyAllowed + other.wronglyAllowed,
    wronglyDenied: one.wronglyDenied + other.wronglyDenied,
    longestGapMs: Math.max(one.longestGapMs, other.longestGapMs),
  };
}
