// Rewrites the YAML tree of rules from one spelling of the fields to the other, in place, so that comments, order and
// layout stay. The values come from the model, which the caller has read from the same text.
import { ruleFileName } from "@weir/limits/model/field-path";
import {
  type DescriptorModel,
  type RateLimitConfigModel,
  type RateLimitModel,
  WINDOW_FIELDS,
} from "@weir/limits/model/model";
import { isMap, isScalar, isSeq, Scalar } from "yaml";
import type { Node, Pair } from "yaml";

/** The two spellings: of custom resources and of rule files. */
type Spelling = "manifest" | "rules";

/** Fields of each kind of map; others mean nothing there. */
const FIELDS = {
  root: ["domain", "descriptors"],
  descriptor: [
    "key",
    "value",
    "rateLimit",
    "rateLimits",
    "descriptors",
    "shadowMode",
    "detailedMetric",
    "quotaMode",
    "valueToMetric",
    "shareThreshold",
    "showValues",
    "metadata",
  ],
  limit: ["unit", "requestsPerUnit", "unlimited", "name", "replaces", ...WINDOW_FIELDS],
  listed: ["unit", "requestsPerUnit", "name", ...WINDOW_FIELDS],
  replaced: ["name"],
} as const satisfies Record<string, readonly string[]>;

/** Fields that are a map or a list of maps, and the kind of those. */
const INNER_KINDS: Readonly<Record<string, keyof typeof FIELDS>> = {
  descriptors: "descriptor",
  rateLimit: "limit",
  rateLimits: "listed",
  replaces: "replaced",
};

type AnyModel = RateLimitConfigModel | DescriptorModel | RateLimitModel | RateLimitModel["replaces"][number];

interface Rewrite {
  readonly to: Spelling;
  /** Takes a remark about something at an offset of the text. */
  readonly remark: (offset: number, message: string) => void;
}

/** Rewrites the rules of one domain, from the other spelling to `to`. */
export function rewriteRules(root: Node, model: RateLimitConfigModel, rewrite: Rewrite): void {
  rewriteMap(root, "root", model, rewrite);
}

function rewriteMap(node: unknown, kind: keyof typeof FIELDS, model: AnyModel, rewrite: Rewrite): void {
  // The anchor of an alias is rewritten where it is defined.
  if (!isMap(node)) return;
  const from: Spelling = rewrite.to === "rules" ? "manifest" : "rules";
  const fields = new Map<string, string>(FIELDS[kind].map((field) => [spelled(field, from), field]));
  const kept = new Map<string, Pair>();
  for (const pair of node.items) {
    const name = isScalar(pair.key) ? String(pair.key.value) : "";
    const field = fields.get(name);
    if (field === undefined) rewrite.remark(offsetOf(pair.key, node), `${name} means nothing here and is left out`);
    // Of equal keys the last counts. Null and the empty value that API servers add mean absent.
    else if (isNull(pair.value) || (field === "value" && isScalar(pair.value) && pair.value.value === ""))
      kept.delete(field);
    else kept.set(field, pair);
  }
  node.items = [...kept.values()];
  for (const [field, pair] of kept) {
    if (isScalar(pair.key)) pair.key.value = spelled(field, rewrite.to);
    const value = (model as unknown as Readonly<Record<string, unknown>>)[field];
    const inner = INNER_KINDS[field];
    if (inner === undefined) rewriteScalar(pair, value);
    else if (!isSeq(pair.value)) rewriteMap(pair.value, inner, value as AnyModel, rewrite);
    else
      pair.value.items.forEach((item, index) =>
        rewriteItem(item, inner, (value as readonly AnyModel[])[index], rewrite),
      );
  }
  // Written on the resource in a manifest, for all of its rules.
  if (
    kind === "descriptor" &&
    rewrite.to === "rules" &&
    (model as DescriptorModel).shadowMode &&
    !kept.has("shadowMode")
  )
    node.set(spelled("shadowMode", "rules"), true);
  if (
    (kind !== "limit" && kind !== "listed") ||
    rewrite.to !== "manifest" ||
    (model as RateLimitModel).unlimited ||
    node.has("requestsPerUnit")
  )
    return;
  node.set("requestsPerUnit", 0);
  rewrite.remark(offsetOf(node, node), "requests_per_unit is missing, which means 0: every request is rejected");
}

/** How a field is written in a spelling. */
function spelled(field: string, spelling: Spelling): string {
  return spelling === "rules" ? ruleFileName(field) : field;
}

function rewriteItem(item: unknown, kind: keyof typeof FIELDS, model: AnyModel | undefined, rewrite: Rewrite): void {
  if (model !== undefined) rewriteMap(item, kind, model, rewrite);
}

/**
 * Gives a scalar the value that the model has: 404 without quotes is a text in a rule file and a
 * number in a manifest. Metadata, which is not a scalar, stays.
 */
function rewriteScalar(pair: Pair, value: unknown): void {
  if (!isScalar(pair.value) || pair.value.value === value) return;
  const { comment, commentBefore, anchor } = pair.value;
  pair.value = Object.assign(new Scalar(value), { comment, commentBefore }, anchor === undefined ? {} : { anchor });
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined || (isScalar(value) && value.value === null);
}

function offsetOf(node: unknown, around: Node): number {
  return (node as Partial<Node> | null)?.range?.[0] ?? around.range?.[0] ?? 0;
}
