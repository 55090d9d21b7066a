// Which clients a request for client status selects: the matchers of Envoy's API over node id and
// metadata. Pure, but for the bound on the time that regular expressions may take.
import type { NodeMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/node_pb";
import type { StringMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/string_pb";
import type { StructMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/struct_pb";
import type { ValueMatcher } from "@weir/proto/generated/envoy/type/matcher/v3/value_pb";

import { createExpressions, type Expressions } from "./bounded-expressions.ts";
import { ReportError } from "../report-error.ts";

/** Most matchers in one request, and how deep values may be matched. */
const MATCHERS_MAX = 100;
const DEPTH_MAX = 16;

/** A client as matchers see it. */
export interface MatchedNode {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Whether one of the matchers holds for a node; none selects all. Fails with CLIENT_STATUS_REFUSED
 * when a matcher is wrong.
 */
export function nodePredicate(matchers: readonly NodeMatcher[]): (node: MatchedNode) => boolean {
  if (matchers.length > MATCHERS_MAX)
    throw refusal(`there are ${matchers.length} node matchers, at most ${MATCHERS_MAX} are allowed`);
  if (matchers.length === 0) return () => true;
  const expressions = createExpressions();
  return (node) => matchers.some((matcher) => matchesNode(matcher, node, expressions));
}

/** Everything that a matcher sets has to hold. */
function matchesNode(
  { nodeId, nodeMetadatas }: NodeMatcher,
  { id, metadata }: MatchedNode,
  expressions: Expressions,
): boolean {
  if (nodeId !== undefined && !matchesString(nodeId, id, expressions)) return false;
  return nodeMetadatas.every((matcher) => matchesMetadata(matcher, metadata, expressions));
}

function matchesMetadata(
  { path, value }: StructMatcher,
  metadata: MatchedNode["metadata"],
  expressions: Expressions,
): boolean {
  if (path.length === 0) throw refusal("a metadata matcher has no path");
  if (value === undefined) throw refusal("a metadata matcher has no value");
  const keys = path.map(({ segment }) => {
    if (segment.case === undefined) throw refusal("a step of a metadata path has no key");
    return segment.value;
  });
  // The metadata that is kept is flat: a longer path leads nowhere.
  const [key = ""] = keys;
  const found = keys.length === 1 && Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  return matchesValue(value, found, expressions, 0);
}

/** What is kept of metadata are texts; other kinds of value never match. */
function matchesValue(
  { matchPattern }: ValueMatcher,
  found: string | undefined,
  expressions: Expressions,
  depth: number,
): boolean {
  if (depth > DEPTH_MAX) throw refusal(`value matchers are nested deeper than ${DEPTH_MAX}`);
  switch (matchPattern.case) {
    case undefined:
      throw refusal("a value matcher says nothing");
    case "stringMatch":
      return found !== undefined && matchesString(matchPattern.value, found, expressions);
    case "presentMatch":
      return (found !== undefined) === matchPattern.value;
    case "orMatch":
      return matchPattern.value.valueMatchers.some((matcher) => matchesValue(matcher, found, expressions, depth + 1));
    case "nullMatch":
    case "doubleMatch":
    case "boolMatch":
    case "listMatch":
      return false;
  }
}

function matchesString({ matchPattern, ignoreCase }: StringMatcher, text: string, expressions: Expressions): boolean {
  const fold = (value: string): string => (ignoreCase ? value.toLowerCase() : value);
  switch (matchPattern.case) {
    case undefined:
      throw refusal("a string matcher says nothing");
    case "exact":
      return fold(text) === fold(matchPattern.value);
    case "prefix":
      return fold(text).startsWith(fold(matchPattern.value));
    case "suffix":
      return fold(text).endsWith(fold(matchPattern.value));
    case "contains":
      return fold(text).includes(fold(matchPattern.value));
    case "safeRegex":
      return expressions.matches(matchPattern.value.regex, text);
  }
}

function refusal(reason: string): ReportError {
  return new ReportError("CLIENT_STATUS_REFUSED", `Cannot select clients: ${reason}`);
}
