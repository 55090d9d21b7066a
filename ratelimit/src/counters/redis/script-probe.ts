// Finds out whether the user of the store may run the commands of cells: a count in a cell of its own says so.
import { type CellRule, TOKEN_BUCKET } from "@weir/limits/cell/cell";
import type { CountBatch, CountedCheck, Counter } from "../counter.ts";
import type { StoreError } from "../store-error.ts";

/** The words of a store whose access control forbids a command, by itself or in a script (Redis 7.0 and later). */
const FORBIDDEN = /no permissions to run|can't run this command/;

/** The words of a Redis before 6.0, which lacks KEEPTTL: it is used from the second call of a key on. */
const OUTDATED = "syntax error";

/** Calls of a probe, one after another. */
const PROBE_CALLS = 2;

const KEY = "weir_script_probe";

/** A bucket that is whole again after a second, so that the key does not live for long. */
const RULE: CellRule = {
  limits: [
    {
      limit: { requestsPerUnit: 1, unit: 1, name: "" },
      algorithm: TOKEN_BUCKET,
      windowMs: 1000,
      capacity: 1,
      calendar: undefined,
    },
  ],
  countsRejected: true,
  wholeMs: 1000,
  keyEnd: "_~b1",
};

/** Why the store refuses the commands, by its own words; undefined when it runs them, or does not answer. */
export async function probeCells(counter: Counter, nowMs: number): Promise<string | undefined> {
  let error: StoreError | undefined;
  for (let call = 0; call < PROBE_CALLS && error === undefined; call++) {
    const probe = new Probe(nowMs);
    counter.count(probe);
    error = await probe.answered;
  }
  if (error?.message.includes(OUTDATED) === true)
    return `Redis cannot count this limit (${error.message}): it must be 6.0 or later`;
  if (error === undefined || !FORBIDDEN.test(error.message)) return undefined;
  if (counter.givesBack === false)
    return `Redis refuses the commands that count this limit (${error.message}): allow its user +get, +incrby and +expire`;
  const approximate = "set LIMIT_SCRIPTS=off to count approximately without scripts";
  const remedy = `allow its user +eval, +evalsha, +get, +set and +time, use fixed windows, or ${approximate}`;
  return `Redis refuses the script that counts this limit (${error.message}): ${remedy}`;
}

class Probe implements CountBatch {
  readonly checks: readonly CountedCheck[];
  readonly deadlineMs = undefined;
  pending = 0;
  readonly #answered = Promise.withResolvers<StoreError | undefined>();

  constructor(nowMs: number) {
    const cell = { rule: RULE, nowMs, settle: (): void => undefined };
    // Windows of a second are those of the per-second store, if there is one.
    this.checks = [1, 60].map((windowSeconds) => ({
      key: `${KEY}${windowSeconds}${RULE.keyEnd}`,
      windowStartSeconds: 0,
      windowSeconds,
      addend: 1,
      after: 0,
      cell,
    }));
  }

  get answered(): Promise<StoreError | undefined> {
    return this.#answered.promise;
  }

  counted(): void {
    this.#answered.resolve(undefined);
  }

  failed(error: StoreError): void {
    this.#answered.resolve(error);
  }
}
