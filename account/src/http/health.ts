// Decides whether the service gets traffic: its store answers, and it does not stop.

/** How long an answer of the store is reused, in milliseconds: many balancers probe. */
const PING_VALID_MS = 1000;

/** The state for probes. */
export interface HealthState {
  /**
   * False while the store does not answer, and from `drain` on; an answer of the store is
   * reused for a second.
   */
  isReady(): Promise<boolean>;
  /** True from `drain` on. */
  isDraining(): boolean;
  /** From now on the service is not ready, and answers end their connections. */
  drain(): void;
}

/** A state that asks `ping`, which rejects while the store does not answer. */
export function createHealth(deps: { readonly ping: () => Promise<void>; readonly nowMs: () => number }): HealthState {
  let isDraining = false;
  let last: { readonly atMs: number; readonly answer: Promise<boolean> } | undefined;
  const ask = (): Promise<boolean> => {
    const nowMs = deps.nowMs();
    if (last === undefined || nowMs - last.atMs >= PING_VALID_MS) {
      last = {
        atMs: nowMs,
        answer: deps.ping().then(
          () => true,
          () => false,
        ),
      };
    }
    return last.answer;
  };
  return {
    isReady: async () => !isDraining && (await ask()),
    isDraining: () => isDraining,
    drain: () => {
      isDraining = true;
    },
  };
}
