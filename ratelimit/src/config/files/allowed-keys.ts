// The check of a rule file's keys, before anything is read from it: a misspelled key must not
// silently lift a limit. What the values mean is rule-file.ts.
import { formatNode, type YamlMap, type YamlNode, type YamlPosition } from "./yaml-document.ts";

/**
 * Every key that a rule file may use, wherever it stands: the check is one flat list, as the
 * reference's is.
 */
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
]);

/** Its inside belongs to the user. */
const FREE_KEY = "metadata";

const INT64_MAX = 2n ** 63n - 1n;

/** What is wrong with a key or with the kind of a value, in the reference's words. */
export interface KeyProblem {
  readonly message: string;
  readonly at: YamlPosition;
}

/** The first problem in the order of the text, or undefined. */
export function findKeyProblem(map: YamlMap): KeyProblem | undefined {
  for (const { key, value } of map.entries) {
    if (key.meaning.type !== "str")
      return { message: `config error, key is not of type string: ${formatNode(key)}`, at: key.at };
    const name = key.meaning.value;
    if (!ALLOWED_KEYS.has(name)) return { message: `config error, unknown key '${name}'`, at: key.at };
    const problem = name === FREE_KEY ? undefined : findValueProblem(value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findValueProblem(value: YamlNode): KeyProblem | undefined {
  switch (value.kind) {
    case "map":
      return findKeyProblem(value);
    case "list":
      for (const element of value.elements) {
        if (element.kind !== "map") {
          return {
            message: `config error, yaml file contains list of type other than map: ${formatNode(element)}`,
            at: element.at,
          };
        }
        const problem = findKeyProblem(element);
        if (problem !== undefined) return problem;
      }
      return undefined;
    case "scalar": {
      const { meaning } = value;
      const isLeaf = meaning.type !== "float" && !(meaning.type === "int" && meaning.value > INT64_MAX);
      return isLeaf ? undefined : { message: "error checking config", at: value.at };
    }
  }
}
