// Whether the service should get traffic: its store answers and it is not about to stop.

/**
 * How long an answer of the store counts, in milliseconds: probes of many balancers must not become
 * load.
 */
const PING_VALID_MS = 1000;

/** The state that probes ask for. */
export interface HealthState {
  /**
   * False while the store does not answer, and from `drain` on; an answer of the store counts for a
   * second.
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
