// Parses a rule file into the model, with the errors of envoyproxy/ratelimit and the place of each in the text.
import { locate, type SourceLocation, type YamlProblem } from "../go-yaml/node.ts";
import { parseYamlInSteps } from "../go-yaml/parse.ts";
import { boolean, type Decoder, freeMap, list, optional, struct, text, uint32 } from "../go-yaml/struct-decoder.ts";
import { type FieldPath, ruleFileName } from "../model/field-path.ts";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "../model/model.ts";
import { inOneGo } from "../model/in-one-go.ts";
import { findKeyProblem } from "../validate/allowed-keys.ts";

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

/** Most values that aliases may add: a file of that size without aliases has fewer. */
const ALIASED_NODES_MAX = 4_000_000;

/** Place of an empty file. */
const START: SourceLocation = { line: 1, column: 1 };

/** A file that was read, or the first thing that is wrong with it. */
export type RuleFileResult =
  | {
      readonly ok: true;
      readonly model: RateLimitConfigModel;
      /** The place of a field of the model, or of the innermost value around it that is written. */
      readonly locationOf: (path: FieldPath) => SourceLocation;
    }
  | {
      readonly ok: false;
      /** Begins with the name of the file. */
      readonly message: string;
      /** Absent when no place in the text is to blame. */
      readonly at?: SourceLocation;
    };

const rateLimit = struct<RateLimitModel>({
  unit: text,
  requestsPerUnit: uint32,
  unlimited: boolean,
  name: text,
  replaces: list(() => struct<RateLimitModel["replaces"][number]>({ name: text })),
  unitMultiplier: optional(uint32),
  algorithm: optional(text),
  burst: optional(uint32),
  countRejectedHits: optional(boolean),
  timeZone: optional(text),
  monthDay: optional(uint32),
});

const descriptor: Decoder<DescriptorModel> = struct<DescriptorModel>({
  key: text,
  value: text,
  rateLimit: optional(rateLimit),
  rateLimits: optional(list(() => rateLimit)),
  descriptors: list(() => descriptor),
  shadowMode: boolean,
  detailedMetric: boolean,
  quotaMode: boolean,
  valueToMetric: boolean,
  shareThreshold: boolean,
  showValues: optional(boolean),
  metadata: freeMap,
});

const rules = struct<Omit<RateLimitConfigModel, "name">>({ domain: text, descriptors: list(() => descriptor) });

/**
 * Reads a rule file. `name` begins every error text. Duplicates, units and other rules between
 * fields are not checked here.
 */
export function parseRuleFile(name: string, content: string): RuleFileResult {
  return inOneGo(parseRuleFileInSteps(name, content));
}

/** The same in steps, between which a server can turn to its calls. */
export function* parseRuleFileInSteps(name: string, content: string): Generator<void, RuleFileResult> {
  const refuse = (message: string, at?: SourceLocation): RuleFileResult => ({
    ok: false,
    message: `${name}: ${message}`,
    ...(at && { at: { line: at.line, column: at.column } }),
  });
  if (content.length > RULE_FILE_MAX_LENGTH) {
    const excess = `it is longer than ${RULE_FILE_MAX_LENGTH} characters, current length is ${content.length}`;
    return refuse(`error loading config file: ${excess}`);
  }
  const options = { documents: "first", aliasedNodesMax: ALIASED_NODES_MAX, isJson: false } as const;
  const [document] = yield* parseYamlInSteps(content, options);
  const [problem] = document?.problems ?? [];
  if (problem !== undefined)
    return refuse(`error loading config file: yaml: line ${problem.line}: ${problem.message}`, problem);
  yield;
  const root = document?.root;
  const keyProblem = root?.kind === "map" ? findKeyProblem(root) : undefined;
  if (keyProblem !== undefined) return refuse(keyProblem.message, keyProblem);
  yield;
  const problems: YamlProblem[] = [];
  const decoded = root === undefined ? rules.zero : rules.decode(root, rules.zero, { field: "", problems });
  if (problems[0] !== undefined) {
    const lines = problems.map(({ line, message }) => `\n  line ${line}: ${message}`);
    return refuse(`error loading config file: yaml: unmarshal errors:${lines.join("")}`, problems[0]);
  }
  const locationOf = (path: FieldPath): SourceLocation => {
    const written = path.map((step) => (typeof step === "string" ? ruleFileName(step) : step));
    return root === undefined ? START : locate(root, written).value;
  };
  return { ok: true, model: { name, ...decoded }, locationOf };
}
