// Rewrites the YAML tree of rules from one spelling of the fields to the other, in place, so that
// comments, order and layout stay. What the fields mean comes from the model, which somebody has
// read from the same text; whether the result says the same is for the caller to check.
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "@weir/limits/model/model";
import { isMap, isScalar, isSeq, Scalar } from "yaml";
import type { Node, Pair, YAMLMap } from "yaml";

/** The two spellings: of custom resources and of rule files. */
export type Spelling = "manifest" | "rules";

/** The fields that rule files write differently. */
const RULE_FILE_NAMES: Readonly<Record<string, string>> = {
  rateLimit: "rate_limit",
  requestsPerUnit: "requests_per_unit",
  shadowMode: "shadow_mode",
  detailedMetric: "detailed_metric",
  quotaMode: "quota_mode",
  valueToMetric: "value_to_metric",
  shareThreshold: "share_threshold",
};

/** Which fields each thing has; the others mean nothing there. */
const FIELDS = {
  root: ["domain", "descriptors"],
  descriptor: [
    "key",
    "value",
    "rateLimit",
    "descriptors",
    "shadowMode",
    "detailedMetric",
    "quotaMode",
    "valueToMetric",
    "shareThreshold",
    "metadata",
  ],
  limit: ["unit", "requestsPerUnit", "unlimited", "name", "replaces"],
  replaced: ["name"],
} as const satisfies Record<string, readonly string[]>;

type Kind = keyof typeof FIELDS;

/** A field that was left out because it means nothing where it stands. */
export interface OmittedField {
  readonly name: string;
  /** Offset in the text. */
  readonly offset: number;
}

/** A limit that did not say how many requests, which a rule file reads as 0. */
export interface MissingRequests {
  readonly offset: number;
}

/** What was done besides renaming. */
export interface RewriteNotes {
  readonly omitted: OmittedField[];
  readonly missingRequests: MissingRequests[];
}

/** How a field is written in a spelling. */
export function spelled(field: string, spelling: Spelling): string {
  return spelling === "rules" ? (RULE_FILE_NAMES[field] ?? field) : field;
}

/** Rewrites the rules of one domain, from the other spelling to `to`. */
export function rewriteRules(root: Node, model: RateLimitConfigModel, to: Spelling): RewriteNotes {
  const notes: RewriteNotes = { omitted: [], missingRequests: [] };
  rewriteMap(root, "root", model, { to, notes });
  return notes;
}

interface Rewrite {
  readonly to: Spelling;
  readonly notes: RewriteNotes;
}

type AnyModel = RateLimitConfigModel | DescriptorModel | RateLimitModel | { readonly name: string };

function rewriteMap(node: unknown, kind: Kind, model: AnyModel, rewrite: Rewrite): void {
  // An alias stands for something that is rewritten where it is written.
  if (!isMap(node)) return;
  const from: Spelling = rewrite.to === "rules" ? "manifest" : "rules";
  const fields = new Map<string, string>(FIELDS[kind].map((field) => [spelled(field, from), field]));
  const kept = new Map<string, Pair>();
  for (const pair of node.items) {
    const name = isScalar(pair.key) ? String(pair.key.value) : "";
    const field = fields.get(name);
    if (field === undefined) rewrite.notes.omitted.push({ name, offset: offsetOf(pair.key, node) });
    // Of equal keys the last counts; null is as good as absent.
    else if (isNull(pair.value)) kept.delete(field);
    else kept.set(field, pair);
  }
  // A comment above what is left out belongs to what follows, at best; losing it is told by the
  // caller.
  node.items = [...kept.values()];
  for (const [field, pair] of kept) {
    if (isScalar(pair.key)) pair.key.value = spelled(field, rewrite.to);
    rewriteValue(pair, field, (model as unknown as Readonly<Record<string, unknown>>)[field], rewrite);
  }
  if (kind === "limit" && rewrite.to === "manifest") addRequests(node, model as RateLimitModel, rewrite.notes);
}

function rewriteValue(pair: Pair, field: string, model: unknown, rewrite: Rewrite): void {
  switch (field) {
    case "descriptors":
      rewriteList(pair.value, "descriptor", model as readonly DescriptorModel[], rewrite);
      break;
    case "replaces":
      rewriteList(pair.value, "replaced", model as RateLimitModel["replaces"], rewrite);
      break;
    case "rateLimit":
      rewriteMap(pair.value, "limit", model as RateLimitModel, rewrite);
      break;
    case "metadata":
      break; // The user's own.
    default:
      rewriteScalar(pair, model);
  }
}

function rewriteList(node: unknown, kind: Kind, models: readonly AnyModel[], rewrite: Rewrite): void {
  if (!isSeq(node)) return;
  node.items.forEach((item, index) => {
    const model = models[index];
    if (model !== undefined) rewriteMap(item, kind, model, rewrite);
  });
}

/**
 * The value as the model has it: 404 without quotes is a text in a rule file and a number in a
 * manifest.
 */
function rewriteScalar(pair: Pair, value: unknown): void {
  if (!isScalar(pair.value)) return;
  const old = pair.value;
  if (old.value === value) return;
  const fresh = new Scalar(value);
  fresh.comment = old.comment ?? null;
  fresh.commentBefore = old.commentBefore ?? null;
  if (old.anchor !== undefined) fresh.anchor = old.anchor;
  pair.value = fresh;
}

function addRequests(node: YAMLMap, model: RateLimitModel, notes: RewriteNotes): void {
  if (model.unlimited || node.has("requestsPerUnit")) return;
  node.set("requestsPerUnit", 0);
  notes.missingRequests.push({ offset: node.range?.[0] ?? 0 });
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined || (isScalar(value) && value.value === null);
}

function offsetOf(key: unknown, around: Node): number {
  return (isScalar(key) ? key.range?.[0] : undefined) ?? around.range?.[0] ?? 0;
}
