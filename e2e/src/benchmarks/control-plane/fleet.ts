// The pods of the control plane's benchmark: starts their process and asks it for their responses.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { E2eError } from "../../errors.ts";
import type { PodsAnswer, PodsOrder } from "./pods.ts";

/** Longest wait for an answer, in milliseconds: far beyond every bar, so that a miss is measured. */
const ANSWER_TIMEOUT_MS = 300_000;

/** The number of pods and where they connect. */
export type FleetOptions = Omit<Extract<PodsOrder, { kind: "open" }>, "kind">;

/** Starts pods; they connect as soon as there is something to connect to. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const child = fork(join(import.meta.dirname, "pods.js"), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: ["--max-old-space-size=8192", "--max-semi-space-size=64"], // A thousand pods with thousands of resources.
  });
  await once(child, "spawn");
  const fleet = new Fleet(child);
  child.send({ kind: "open", ...options } satisfies PodsOrder);
  return fleet;
}

/** Pods in a process of their own. */
export class Fleet {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Each pod's response of this number, counted from 1; resolves when all pods have it. */
  awaitResponse(response: number): Promise<PodsAnswer> {
    return this.#ask({ kind: "await", response });
  }

  /** Each pod's last response now. */
  look(): Promise<PodsAnswer> {
    return this.#ask({ kind: "look" });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  /** One question at a time. */
  async #ask(order: PodsOrder): Promise<PodsAnswer> {
    const done = new AbortController();
    const signal = AbortSignal.any([AbortSignal.timeout(ANSWER_TIMEOUT_MS), done.signal]);
    const ended = once(this.#child, "exit", { signal }).then(() => Promise.reject(new Error("they ended")));
    this.#child.send(order);
    try {
      const [answer] = (await Promise.race([once(this.#child, "message", { signal }), ended])) as [PodsAnswer];
      return answer;
    } catch (cause) {
      const message = `The pods did not answer '${order.kind}' within ${ANSWER_TIMEOUT_MS / 1000} s, or ended`;
      throw new E2eError("BENCHMARK_FAILED", message, { cause });
    } finally {
      done.abort();
    }
  }
}
