// Selects clients by the node matchers of Envoy's API, over node id and metadata.
import type { NodeMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/node_pb";
import type { StringMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/string_pb";
import type { StructMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/struct_pb";
import type { ValueMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/value_pb";

import { RE2JS } from "re2js";

import { ReportError } from "../report-error.ts";

/** Most matchers in one request, and the depth of value matchers. */
const MATCHERS_MAX = 100;
const DEPTH_MAX = 16;

/** Longest expression, in characters, and the time for all matches of one request, in milliseconds. */
const EXPRESSION_MAX = 1000;
const BUDGET_MS = 250;

/** The fields of a client that matchers see. */
export interface MatchedNode {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Whether a matcher matches a node; no matcher selects all. Fails with CLIENT_STATUS_REFUSED. */
export function nodePredicate(matchers: readonly NodeMatcher[]): (node: MatchedNode) => boolean {
  if (matchers.length > MATCHERS_MAX)
    throw refusal(`there are ${matchers.length} node matchers, at most ${MATCHERS_MAX} are allowed`);
  if (matchers.length === 0) return () => true;
  const expressions = new Expressions();
  return (node) => matchers.some((matcher) => matchesNode(matcher, node, expressions));
}

/** Everything that a matcher sets has to match. */
function matchesNode({ nodeId, nodeMetadatas }: NodeMatcher, { id, metadata }: MatchedNode, re2: Expressions): boolean {
  if (nodeId !== undefined && !matchesString(nodeId, id, re2)) return false;
  return nodeMetadatas.every((matcher) => matchesMetadata(matcher, metadata, re2));
}

function matchesMetadata({ path, value }: StructMatcher, metadata: MatchedNode["metadata"], re2: Expressions): boolean {
  if (path.length === 0) throw refusal("a metadata matcher has no path");
  if (value === undefined) throw refusal("a metadata matcher has no value");
  const keys = path.map(({ segment }) => {
    if (segment.case === undefined) throw refusal("a step of a metadata path has no key");
    return segment.value;
  });
  // The metadata that is kept is flat: a longer path matches nothing.
  const [key = ""] = keys;
  const found = keys.length === 1 && Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  return matchesValue(value, found, re2);
}

/** Metadata is kept as texts; other kinds of value never match. */
function matchesValue({ matchPattern }: ValueMatcher, found: string | undefined, re2: Expressions, depth = 0): boolean {
  if (depth > DEPTH_MAX) throw refusal(`value matchers are nested deeper than ${DEPTH_MAX}`);
  switch (matchPattern.case) {
    case undefined:
      throw refusal("a value matcher is empty");
    case "stringMatch":
      return found !== undefined && matchesString(matchPattern.value, found, re2);
    case "presentMatch":
      return (found !== undefined) === matchPattern.value;
    case "orMatch":
      return matchPattern.value.valueMatchers.some((matcher) => matchesValue(matcher, found, re2, depth + 1));
    case "nullMatch":
    case "doubleMatch":
    case "boolMatch":
    case "listMatch":
      return false;
  }
}

function matchesString({ matchPattern, ignoreCase }: StringMatcher, text: string, re2: Expressions): boolean {
  const fold = (value: string): string => (ignoreCase ? value.toLowerCase() : value);
  switch (matchPattern.case) {
    case undefined:
      throw refusal("a string matcher is empty");
    case "exact":
      return fold(text) === fold(matchPattern.value);
    case "prefix":
      return fold(text).startsWith(fold(matchPattern.value));
    case "suffix":
      return fold(text).endsWith(fold(matchPattern.value));
    case "contains":
      return fold(text).includes(fold(matchPattern.value));
    case "safeRegex":
      return re2.matches(matchPattern.value.regex, text);
  }
}

function refusal(reason: string, cause?: unknown): ReportError {
  return new ReportError("CLIENT_STATUS_REFUSED", `Cannot select clients: ${reason}`, { cause });
}

/** The regular expressions of one request, in the syntax of RE2, which Envoy uses. */
class Expressions {
  readonly #compiled = new Map<string, RE2JS>();
  readonly #deadlineMs = performance.now() + BUDGET_MS;

  /** Whether it matches the whole text. */
  matches(expression: string, text: string): boolean {
    if (performance.now() > this.#deadlineMs) throw refusal(`their expressions take longer than ${BUDGET_MS} ms`);
    return this.#compiled.getOrInsertComputed(expression, compile).matches(text);
  }
}

function compile(expression: string): RE2JS {
  if (expression.length > EXPRESSION_MAX) throw refusal(`an expression is longer than ${EXPRESSION_MAX} characters`);
  try {
    return RE2JS.compile(expression);
  } catch (cause) {
    throw refusal(`${JSON.stringify(expression)} is no regular expression`, cause);
  }
}
