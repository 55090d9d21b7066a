// Checks the keys of a rule file before anything is read from it: a misspelled key must not silently lift a limit.
import { formatNode, lastEntriesOf, type YamlMap, type YamlNode, type YamlProblem } from "../go-yaml/node.ts";

/** Every key that a rule file may use: one flat list for all places, as in envoyproxy/ratelimit, which has the first 16. */
const ALLOWED_KEYS: ReadonlySet<string> = new Set([
  "domain",
  "key",
  "value",
  "descriptors",
  "rate_limit",
  "unit",
  "requests_per_unit",
  "unlimited",
  "shadow_mode",
  "quota_mode",
  "name",
  "replaces",
  "detailed_metric",
  "value_to_metric",
  "share_threshold",
  "metadata",
  "rate_limits",
  "unit_multiplier",
  "algorithm",
  "burst",
  "count_rejected_hits",
  "time_zone",
  "month_day",
  "show_values",
]);

/** Its inside belongs to the user. */
const FREE_KEY = "metadata";

const INT64_MAX = 2n ** 63n - 1n;

/**
 * The first problem in the order of the text, in the words of envoyproxy/ratelimit; undefined when
 * there is none. Of a repeated key only the last value is checked, as there.
 */
export function findKeyProblem(map: YamlMap): YamlProblem | undefined {
  for (const { key, value } of lastEntriesOf(map)) {
    if (key.meaning.type !== "str")
      return { ...key.at, message: `config error, key is not of type string: ${formatNode(key)}` };
    const name = key.meaning.value;
    if (!ALLOWED_KEYS.has(name)) return { ...key.at, message: `config error, unknown key '${name}'` };
    const problem = name === FREE_KEY ? undefined : findValueProblem(value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findValueProblem(value: YamlNode): YamlProblem | undefined {
  if (value.kind === "map") return findKeyProblem(value);
  if (value.kind === "scalar") {
    const { meaning, at } = value;
    const isLeaf = meaning.type !== "float" && !(meaning.type === "int" && meaning.value > INT64_MAX);
    return isLeaf ? undefined : { ...at, message: "error checking config" };
  }
  for (const element of value.elements) {
    const message = `config error, yaml file contains list of type other than map: ${formatNode(element)}`;
    const problem = element.kind === "map" ? findKeyProblem(element) : { ...element.at, message };
    if (problem !== undefined) return problem;
  }
  return undefined;
}
