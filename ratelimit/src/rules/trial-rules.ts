// The rule set of a configuration that is only to be tried out, as command line tools do: compiled
// as for service, with statistics that nobody reads.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { createStatisticsStore } from "../statistics/statistics-store.ts";
import { compileRules } from "./compile.ts";
import type { RuleSet } from "./rule-set.ts";

/**
 * Most statistics keys made by request values: one for each descriptor of a request, of which a
 * service takes a thousand by default.
 */
const DYNAMIC_KEYS_MAX = 1000;

/**
 * Compiles configurations that the validator found nothing in. Each match names the statistics that
 * a service would count in.
 */
export function compileTrialRules(configs: readonly RateLimitConfigModel[]): RuleSet {
  return compileRules(configs, { statistics: createStatisticsStore({ maxDynamicKeys: DYNAMIC_KEYS_MAX }) });
}
