// The replicas behind the page: asks the server of the page for them, again and again, and watches each.
import type { Route, RuleAddress } from "../route.ts";
import { callMethod } from "./call-method.ts";
import { reasonOf } from "./follow-stream.ts";
import { type Answer, type Question, questionOf, RESPONSES } from "./question.ts";
import { Replica } from "./replica.ts";
import type { ReplicasState } from "./replica-state.ts";

/** How often the server is asked for its replicas, in milliseconds. */
const LOOKUP_INTERVAL_MS = 5_000;

/** Longest wait for an answer, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** The path on which the server of the page lists the paths of replicas. */
const REPLICAS_PATH = "/console/replicas";

const SERVICE = "weir.console.v1.ConsoleService";

/** The message of the page for a browser without a session. */
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
  /** The question that the view asks, and the answer. */
  #question: Question | undefined;
  #answer: Answer | undefined;
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

  /** Asks for what this view shows, and for nothing of another one. */
  look(route: Route | undefined): void {
    const question = questionOf(route);
    if (JSON.stringify(question) !== JSON.stringify(this.#question)) {
      this.#question = question;
      this.#answer = undefined;
      void this.#ask();
    }
    this.#rule = route?.view === "rule" ? route.rule : undefined;
    for (const replica of this.#replicas.values()) replica.askKeys(this.#rule);
  }

  state(): ReplicasState {
    return {
      replicas: [...this.#replicas.values()].map((replica) => replica.state()),
      answer: this.#answer,
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
    await this.#ask();
    this.#deps.changed();
    this.#timer = setTimeout(() => void this.#lookUp(), LOOKUP_INTERVAL_MS);
  }

  /**
   * Asks the first replica that answers, for counts the first one with a pod that has read them; for changes all together,
   * of which that counts which has recorded them for the longest time.
   */
  async #ask(): Promise<void> {
    const question = this.#question;
    if (question === undefined) return;
    const bases = [...this.#replicas.keys()];
    const isOfAll = question.method === "ListChanges";
    const answers = isOfAll ? await Promise.all(bases.map((base) => answerOf(base, question))) : [];
    for (const base of isOfAll ? [] : bases) {
      const answer = await answerOf(base, question);
      answers.push(answer);
      if (order(answer) === 0) break;
    }
    const [answer] = answers.toSorted((one, other) => order(one) - order(other));
    if (answer === undefined || question !== this.#question) return;
    this.#answer = answer;
    this.#deps.changed();
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

async function answerOf(base: string, { method, request }: Question): Promise<Answer> {
  try {
    const call = { method: `${SERVICE}/${method}`, request, response: RESPONSES[method] };
    const response = await callMethod(base, call, AbortSignal.timeout(TIMEOUT_MS));
    return { method, response } as Answer;
  } catch (error) {
    return { method: undefined, reason: reasonOf(error) ?? "no replica of the control plane answers" };
  }
}

/** Answers first, those with counts before others, and of changes those since the earliest time; 0: none is better. */
function order(answer: Answer): number {
  switch (answer.method) {
    case undefined:
      return Infinity;
    case "ListChanges":
      // 0: it has not read its source yet.
      return Number(answer.response.since?.seconds ?? 0) || Number.MAX_VALUE;
    case "ExplainRequest":
      return Number((answer.response.counts?.error ?? "") !== "");
    case "GetRules":
      return 0;
  }
}
