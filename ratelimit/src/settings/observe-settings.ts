// Settings of what a watched pod reports to the control plane.
import type { EnvReader } from "@weir/common/settings/read-env";
import type { TopKeysSettings } from "../observe/observed-pod.ts";

/** Most keys of a rule: a table is searched from one end to the other. */
const TOP_KEYS_MAX = 100;

/** Reads the settings. */
export function readObserveSettings(read: EnvReader): TopKeysSettings {
  return {
    topKeys: read.integer("TOP_KEYS", {
      default: 32,
      min: 0,
      max: TOP_KEYS_MAX,
      effect:
        "Keys that the pod keeps of each rule, those with most hits over the limit and those with most hits, of at most 500 rules; the control plane receives them while a reader watches. 0 keeps none.",
    }),
    keyValues: read.oneOf("TOP_KEYS_VALUES", {
      default: "hash",
      choices: ["hash", "clear", "off"],
      effect:
        "How these keys show values of requests: hash as an HMAC with a secret of the fleet, which the control plane sends, and not at all without it; clear as texts; off not at all.",
    }),
  };
}
