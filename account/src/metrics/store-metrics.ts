// The metrics of the user store, every series present at zero from the start.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { STORE_REASONS } from "../store/store-error.ts";
import { STORE_OPERATIONS, type StoreEvents } from "../store/watch-store.ts";

/** Upper bounds of the time of a call, in seconds; it is given up before 3. */
const CALL_SECONDS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];

/** Registers them. */
export function createStoreMetrics(registry: Registry): StoreEvents {
  const registers = [registry];
  const seconds = new Histogram({
    name: "store_seconds",
    help: "Time of one call of the user store, by operation, also of those that fail.",
    labelNames: ["operation"],
    buckets: CALL_SECONDS,
    registers,
  });
  const errors = new Counter({
    name: "store_errors_total",
    help: "Calls that the user store could not answer, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const isOpen = new Gauge({
    name: "store_breaker_open",
    help: "1 while calls of STORE=mongo fail immediately because the last ones had no answer, else 0.",
    registers,
  });
  const openings = new Counter({
    name: "store_breaker_openings_total",
    help: "Times that calls of STORE=mongo began to fail immediately.",
    registers,
  });
  for (const operation of Object.keys(STORE_OPERATIONS)) seconds.zero({ operation });
  for (const reason of STORE_REASONS) errors.inc({ reason }, 0);
  return {
    called: (operation, duration) => seconds.observe({ operation }, duration),
    failed: (reason) => errors.inc({ reason }),
    breaker: (open, hasOpened) => {
      isOpen.set(open ? 1 : 0);
      if (hasOpened) openings.inc();
    },
  };
}
