// A rule file: YAML text to model, with the errors of the reference and the place of each in the
// text. Whether the rules make sense is the validator of @weir/proto's matter; `positionOf` tells
// where in the text what it found stands.
import type { JsonObject } from "@bufbuild/protobuf";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "@weir/limits/model/model";
import type { ConfigPath } from "@weir/limits/validate/validate";

import { ConfigError } from "../errors.ts";
import { findKeyProblem } from "./allowed-keys.ts";
import { readMetadata } from "./metadata.ts";
import { FieldReader, type TypeProblem } from "./yaml-fields.ts";
import { readYamlInSteps, YamlError, type YamlMap, type YamlNode, type YamlPosition } from "./yaml-document.ts";

/**
 * Largest file that is read, in UTF-16 units: four times what a ConfigMap can hold. Reading it
 * takes some seconds, in steps.
 */
const RULE_FILE_MAX_LENGTH = 4 * 1024 * 1024;

/**
 * Largest file that can hold a text of that length, in bytes: UTF-8 takes at most three for a
 * UTF-16 unit. A larger one need not be opened.
 */
export const RULE_FILE_MAX_BYTES = 3 * RULE_FILE_MAX_LENGTH;

/** Names of model fields that are written differently in a file. */
const FILE_NAMES: Readonly<Record<string, string>> = {
  rateLimit: "rate_limit",
  requestsPerUnit: "requests_per_unit",
  shadowMode: "shadow_mode",
  quotaMode: "quota_mode",
  detailedMetric: "detailed_metric",
  valueToMetric: "value_to_metric",
  shareThreshold: "share_threshold",
};

/** A file that was read, or the first thing that is wrong with it. */
export type RuleFileResult =
  | {
      readonly ok: true;
      readonly model: RateLimitConfigModel;
      /**
       * Where the model's field stands in the text, or the innermost thing around it that does; for
       * the problems of the validator.
       */
      readonly positionOf: (path: ConfigPath) => YamlPosition;
    }
  | { readonly ok: false; readonly error: ConfigError; readonly line?: number; readonly column?: number };

/**
 * Reads a rule file. `name` stands in front of every error text. Duplicates, units and other rules
 * between fields are not checked here.
 */
export function parseRuleFile(name: string, text: string): RuleFileResult {
  const steps = parseRuleFileInSteps(name, text);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same in steps, between which a server can turn to its calls. */
export function* parseRuleFileInSteps(name: string, text: string): Generator<void, RuleFileResult> {
  const refuse = (message: string, at?: YamlPosition): RuleFileResult => ({
    ok: false,
    error: new ConfigError("CONFIG_INVALID", `${name}: ${message}`),
    ...at,
  });
  if (text.length > RULE_FILE_MAX_LENGTH) {
    return refuse(
      `error loading config file: it is longer than ${RULE_FILE_MAX_LENGTH} characters, current length is ${text.length}`,
    );
  }
  let root: YamlNode | undefined;
  try {
    root = yield* readYamlInSteps(text);
  } catch (error) {
    if (error instanceof YamlError) return refuse(`error loading config file: ${error.message}`, error.at);
    throw error;
  }
  yield;
  const fields = new FieldReader();
  const map = fields.map(root, "a map");
  const keyProblem = map === undefined ? undefined : findKeyProblem(map);
  if (keyProblem !== undefined) return refuse(keyProblem.message, keyProblem.at);
  const model = readModel(name, map, fields);
  const [typeProblem] = fields.problems;
  if (typeProblem !== undefined) return refuse(describeTypeProblems(fields.problems), typeProblem.at);
  if (fields.metadataProblem !== undefined) return refuse(fields.metadataProblem.message, fields.metadataProblem.at);
  return { ok: true, model, positionOf: (path) => locate(root, path) };
}

function readModel(name: string, root: YamlMap | undefined, fields: FieldReader): RateLimitConfigModel {
  const of = fieldsOf(root);
  return {
    name,
    domain: fields.string(of("domain"), "domain"),
    descriptors: fields.list(of("descriptors"), "descriptors").map((descriptor) => readDescriptor(descriptor, fields)),
  };
}

function readDescriptor(map: YamlMap, fields: FieldReader): DescriptorModel {
  const of = fieldsOf(map);
  const rateLimit = fields.map(of("rate_limit"), "a map (rate_limit)");
  const metadata = readMetadata(of("metadata"), fields);
  return {
    key: fields.string(of("key"), "key"),
    value: fields.string(of("value"), "value"),
    ...(rateLimit === undefined ? {} : { rateLimit: readRateLimit(rateLimit, fields) }),
    descriptors: fields.list(of("descriptors"), "descriptors").map((descriptor) => readDescriptor(descriptor, fields)),
    shadowMode: fields.boolean(of("shadow_mode"), "shadow_mode"),
    detailedMetric: fields.boolean(of("detailed_metric"), "detailed_metric"),
    quotaMode: fields.boolean(of("quota_mode"), "quota_mode"),
    valueToMetric: fields.boolean(of("value_to_metric"), "value_to_metric"),
    shareThreshold: fields.boolean(of("share_threshold"), "share_threshold"),
    ...(metadata === undefined ? {} : { metadata: metadata satisfies JsonObject }),
  };
}

function readRateLimit(map: YamlMap, fields: FieldReader): RateLimitModel {
  const of = fieldsOf(map);
  return {
    unit: fields.string(of("unit"), "unit"),
    requestsPerUnit: fields.uint32(of("requests_per_unit"), "requests_per_unit"),
    unlimited: fields.boolean(of("unlimited"), "unlimited"),
    name: fields.string(of("name"), "name"),
    replaces: fields
      .list(of("replaces"), "replaces")
      .map((replace) => ({ name: fields.string(fieldsOf(replace)("name"), "name") })),
  };
}

function fieldsOf(map: YamlMap | undefined): (name: string) => YamlNode | undefined {
  return (name) =>
    map?.entries.find((entry) => entry.key.meaning.type === "str" && entry.key.meaning.value === name)?.value;
}

function describeTypeProblems(problems: readonly TypeProblem[]): string {
  return `error loading config file: yaml: unmarshal errors:${problems.map((problem) => `\n  line ${problem.at.line}: ${problem.message}`).join("")}`;
}

function locate(root: YamlNode | undefined, path: ConfigPath): YamlPosition {
  let node = root;
  let at: YamlPosition = root?.at ?? { line: 1, column: 1 };
  for (const step of path) {
    if (node?.kind === "list" && typeof step === "number") node = node.elements[step];
    else if (node?.kind === "map" && typeof step === "string") node = fieldsOf(node)(FILE_NAMES[step] ?? step);
    else node = undefined;
    if (node === undefined) break;
    at = node.at;
  }
  return at;
}
