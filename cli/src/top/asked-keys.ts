// The rules whose keys `weir top keys` has asked for. Pure.
import type { KeyedRule } from "./counts-watch.ts";

/** Shortest time between two questions, in milliseconds: each opens the streams of all replicas again. */
const INTERVAL_MS = 10_000;

/** The rules. */
export class AskedKeys {
  #asked: readonly KeyedRule[] = [];
  #askedMs = -Infinity;

  /**
   * Takes these rules, and returns true, if their keys are to be asked for: one of them is new, and the last
   * question is long enough ago.
   */
  replace(rules: readonly KeyedRule[], nowMs: number): boolean {
    if (nowMs - this.#askedMs < INTERVAL_MS || rules.every((rule) => this.#has(rule))) return false;
    this.#asked = rules;
    this.#askedMs = nowMs;
    return true;
  }

  #has({ domain, path }: KeyedRule): boolean {
    return this.#asked.some((asked) => asked.domain === domain && asked.path === path);
  }
}
