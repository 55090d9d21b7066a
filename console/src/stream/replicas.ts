// The replicas behind the page: asks the server of the page for them, again and again, and watches each.
import { GetRulesResponseSchema, type RuleInfo } from "@weir/proto/generated/weir/console/v1/console_pb";

import type { RuleAddress } from "../route.ts";
import { callMethod } from "./call-method.ts";
import { reasonOf } from "./follow-stream.ts";
import { Replica } from "./replica.ts";
import type { ReplicasState } from "./replica-state.ts";

/** How often the server is asked for its replicas, in milliseconds. */
const LOOKUP_INTERVAL_MS = 5_000;

/** Longest wait for an answer, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** Where the server of the page lists the paths of replicas. */
const REPLICAS_PATH = "/console/replicas";

const GET_RULES = "weir.console.v1.ConsoleService/GetRules";

/** What the page says to a browser without a session. */
const NO_SESSION =
  "This page is that of a kubectl weir console which has ended, or has another address: start the command again.";

export interface ReplicasDeps {
  readonly changed: () => void;
  readonly random: () => number;
}

/** The replicas. */
export class Replicas {
  readonly #deps: ReplicasDeps;
  readonly #replicas = new Map<string, Replica>();
  #error: string | undefined;
  #infos: readonly RuleInfo[] | undefined;
  #rule: RuleAddress | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOpen = false;

  constructor(deps: ReplicasDeps) {
    this.#deps = deps;
  }

  /** Watches until `close`. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    void this.#lookUp();
  }

  /** Ends every stream; what is known is kept until a replica sends again. */
  close(): void {
    this.#isOpen = false;
    clearTimeout(this.#timer);
    for (const replica of this.#replicas.values()) replica.close();
    this.#replicas.clear();
  }

  /** Asks for the keys of this rule, and of no other. */
  askKeys(rule: RuleAddress | undefined): void {
    if (JSON.stringify(rule) === JSON.stringify(this.#rule)) return;
    this.#rule = rule;
    this.#infos = undefined;
    void this.#askLimit();
    for (const replica of this.#replicas.values()) replica.askKeys(rule);
  }

  state(): ReplicasState {
    return {
      replicas: [...this.#replicas.values()].map((replica) => replica.state()),
      infos: this.#infos,
      error: this.#error,
    };
  }

  async #lookUp(): Promise<void> {
    try {
      const answer = await fetch(REPLICAS_PATH, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (answer.status === 401) throw new Error(NO_SESSION);
      if (!answer.ok) throw new Error(`The server of this page answers with HTTP status ${answer.status}.`);
      this.#take((await answer.json()) as readonly string[]);
      this.#error = undefined;
    } catch (error) {
      this.#error = reasonOf(error) ?? "The server of this page does not answer: it may have ended.";
    }
    if (!this.#isOpen) return;
    await this.#askLimit();
    this.#deps.changed();
    this.#timer = setTimeout(() => void this.#lookUp(), LOOKUP_INTERVAL_MS);
  }

  /** The limit as the first replica that answers has it: all have the same resources. */
  async #askLimit(): Promise<void> {
    const rule = this.#rule;
    if (rule === undefined) return;
    for (const base of this.#replicas.keys()) {
      const rules = [{ domain: rule.domain, path: rule.path }];
      const method = { method: GET_RULES, request: { fleet: rule.fleet, rules }, response: GetRulesResponseSchema };
      // Why there is no answer, the replica itself says.
      const answer = await callMethod(base, method, AbortSignal.timeout(TIMEOUT_MS)).catch(() => undefined);
      if (answer === undefined || rule !== this.#rule) continue;
      this.#infos = answer.rules;
      this.#deps.changed();
      return;
    }
  }

  #take(bases: readonly string[]): void {
    if (!this.#isOpen) return;
    const { changed, random } = this.#deps;
    for (const [base, replica] of this.#replicas) {
      if (bases.includes(base)) continue;
      replica.close();
      this.#replicas.delete(base);
    }
    for (const base of bases) {
      if (!this.#replicas.has(base)) this.#replicas.set(base, new Replica({ base, changed, random }, this.#rule));
    }
  }
}
