// A pod that can be watched, and how it shows keys.
import type { ReadCounters } from "./counters-reading.ts";
import type { Observer } from "./observer.ts";

/** How values of descriptors are shown. */
export type KeyValuesMode = "hash" | "clear" | "off";

/** Settings of the keys that count most. */
export interface TopKeysSettings {
  /** TOP_KEYS: keys of a rule by each order; 0 = none. Default 32. */
  readonly topKeys: number;
  /** TOP_KEYS_VALUES. Default hash. */
  readonly keyValues: KeyValuesMode;
}

/** The sources of the reports that the control plane receives while it wants them. */
export interface ObservedPod extends TopKeysSettings {
  readonly observer: Observer;
  readonly readCounters: ReadCounters;
}
