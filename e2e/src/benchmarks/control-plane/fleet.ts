// The pods of a benchmark of the control plane, seen from the program that measures: starts their
// process and asks it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { E2eError } from "../../errors.ts";
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { PodsAnswer, PodsOrder } from "./pods.ts";

/**
 * Longest wait for an answer, in milliseconds: far beyond every bar, so that a miss is measured and
 * not cut off.
 */
const ANSWER_TIMEOUT_MS = 120_000;

/** How many pods there are and where they connect. */
export type FleetOptions = Omit<Extract<PodsOrder, { kind: "open" }>, "kind" | "host">;

/** Pods in a process of their own. */
export interface Fleet {
  /** Each pod's response of this number, counted from 1; resolves when all pods have it. */
  awaitResponse(response: number): Promise<PodsAnswer>;
  /** Each pod's last response now. */
  look(): Promise<PodsAnswer>;
  stop(): Promise<void>;
}

/** Starts pods; they connect as soon as there is something to connect to. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const child = fork(join(import.meta.dirname, "pods.js"), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(child, "spawn");
  const fleet = new ForkedFleet(child);
  child.send({ kind: "open", host: STACK_HOST, ...options } satisfies PodsOrder);
  return fleet;
}

class ForkedFleet implements Fleet {
  readonly #child: ChildProcess;
  #lastId = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  awaitResponse(response: number): Promise<PodsAnswer> {
    return this.#ask({ kind: "await", id: ++this.#lastId, response });
  }

  look(): Promise<PodsAnswer> {
    return this.#ask({ kind: "look", id: ++this.#lastId });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  #ask(order: Extract<PodsOrder, { id: number }>): Promise<PodsAnswer> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        child.off("message", hear);
        child.off("exit", fail);
      };
      const hear = (answer: PodsAnswer): void => {
        if (answer.id !== order.id) return;
        end();
        resolve(answer);
      };
      const fail = (): void => {
        end();
        reject(
          new E2eError(
            "BENCHMARK_FAILED",
            `The pods did not answer '${order.kind}' within ${ANSWER_TIMEOUT_MS / 1000} s, or ended`,
          ),
        );
      };
      const timer = setTimeout(fail, ANSWER_TIMEOUT_MS);
      child.on("message", hear);
      child.once("exit", fail);
      child.send(order satisfies PodsOrder);
    });
  }
}
