// Debug lines that say which rule rejects calls: at most one a second for each rule. They name what
// is configured, never what was asked.
import type { Log } from "@weir/common/log/log";
import type { Rule } from "@weir/limits/rules/rule";

/** Notes rejections. Only made when debug lines are logged at all. */
export class RejectionLog {
  readonly #log: Log;
  /**
   * Rules that have had their line in the second below: never more than the active rules.
   */
  readonly #told = new Set<string>();
  #second = -Infinity;

  constructor(log: Log) {
    this.#log = log;
  }

  /** A rule has rejected a call, or would have if SHADOW_MODE had not let it pass. */
  note(domain: string, rule: Rule, nowSeconds: number, shadowMode: boolean): void {
    if (nowSeconds !== this.#second) {
      this.#second = nowSeconds;
      this.#told.clear();
    }
    if (this.#told.has(rule.path)) return;
    this.#told.add(rule.path);
    this.#log.debug("A rule rejected a call", { domain, rule: rule.path, shadowMode });
  }
}
