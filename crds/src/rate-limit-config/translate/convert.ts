// Converts the text of rules to the other spelling, rule file to manifest and back, with comments and layout as far as
// YAML lets them stay. The caller compares what the result means with what was meant.
import type { SourceLocation } from "@weir/limits/go-yaml/node";
import { ruleFileName } from "@weir/limits/model/field-path";
import {
  type DescriptorModel,
  type RateLimitConfigModel,
  type RateLimitModel,
  windowFieldsOf,
} from "@weir/limits/model/model";
import { Document, isMap, isScalar, Lexer, LineCounter, parseAllDocuments } from "yaml";
import type { DocumentOptions, ParseOptions, SchemaOptions, Tags, YAMLMap } from "yaml";

import type { ManifestIdentity, ManifestPlace } from "../manifest/manifest.ts";
import { API_VERSION, KIND } from "../schema/schema.ts";
import { rewriteRules } from "./rewrite-tree.ts";

/** The mark that the lexer puts before the text of a scalar. */
const SCALAR_MARK = "\u001f";

/** Tags that neither reader knows: for both, dates and the like are texts. */
const FOREIGN_TAGS: ReadonlySet<string> = new Set(
  ["timestamp", "binary", "omap", "pairs", "set"].map((name) => `tag:yaml.org,2002:${name}`),
);

const OPTIONS: ParseOptions & DocumentOptions & SchemaOptions = {
  version: "1.1",
  schema: "yaml-1.1",
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === "string" || !FOREIGN_TAGS.has(tag.tag)),
  uniqueKeys: false,
  merge: false,
  prettyErrors: false,
  logLevel: "silent",
};

/** Something that a reader should know of a conversion. */
export interface ConversionNote extends SourceLocation {
  readonly message: string;
}

/** A text in the other spelling. */
export interface ConvertedText {
  readonly text: string;
  readonly notes: readonly ConversionNote[];
}

/**
 * The manifest of a rule file, whose first document `model` was read from. Undefined when its
 * layout cannot be kept.
 */
export function manifestOfRules(
  text: string,
  model: RateLimitConfigModel,
  name: ManifestIdentity,
): ConvertedText | undefined {
  const lines = new LineCounter();
  const [document] = parseAllDocuments(text, { ...OPTIONS, lineCounter: lines });
  if (document === undefined || !isMap(document.contents)) return undefined;
  const notes: ConversionNote[] = [];
  rewriteRules(document.contents, withLowerUnits(model), {
    to: "manifest",
    remark: (offset, message) => {
      const { line, col } = lines.linePos(offset);
      notes.push({ line: Math.max(line, 1), column: Math.max(col, 1), message });
    },
  });
  const header = takeHeader(document.contents);
  const comments = { above: document.commentBefore, header, below: document.comment };
  return { text: printed(manifestTree(document.contents, name), comments), notes };
}

/**
 * Gives the rule file of a manifest, whose model the caller has read from the same text, once.
 * Undefined when its layout cannot be kept.
 */
export type RulesOfManifest = (model: RateLimitConfigModel, at: ManifestPlace) => string | undefined;

/** Parses a text of manifests, for the rule file of each. */
export function rulesOfManifests(text: string): RulesOfManifest {
  const documents = parseAllDocuments(text, OPTIONS);
  return (model, at) => {
    const document = documents[at.document];
    const resource = document?.getIn(at.path, true);
    if (document === undefined || !isMap(resource)) return undefined;
    const spec = resource.items.find(({ key }) => isScalar(key) && key.value === "spec");
    if (!isMap(spec?.value)) return undefined;
    rewriteRules(spec.value, model, { to: "rules", remark: () => undefined });
    const isFirst = at.path.every((step) => step === "items" || step === 0);
    const outer = isFirst && isMap(document.contents) ? takeHeader(document.contents) : null;
    const own = resource === document.contents ? null : takeHeader(resource);
    const header = joined(outer, own, isScalar(spec.key) ? spec.key.commentBefore : null, takeHeader(spec.value));
    const [above, below] = isFirst ? [document.commentBefore, document.comment] : [null, null];
    return printed(spec.value, { above, header, below });
  };
}

/** A manifest written anew, without any layout to keep. */
export function manifestOfModel(model: RateLimitConfigModel, name: ManifestIdentity): string {
  const manifest = manifestOfRules(rulesOfModel(model), model, name);
  if (manifest === undefined) throw new Error("A mapping did not become one");
  return manifest.text;
}

/** A rule file written anew, without what is at its default. */
export function rulesOfModel({ domain, descriptors }: RateLimitConfigModel): string {
  const rules = { domain, descriptors: descriptors.length === 0 ? undefined : descriptors.map(ruleOf) };
  return new Document(rules, OPTIONS).toString({ lineWidth: 0 });
}

/** Comments of a text that another does not have. */
export function lostComments(before: string, after: string): readonly string[] {
  const left = Map.groupBy(commentsOf(after), (comment) => comment);
  return commentsOf(before).filter((comment) => left.get(comment)?.pop() === undefined);
}

/** The model as manifests must write it: units in lower case. */
export function withLowerUnits(model: RateLimitConfigModel): RateLimitConfigModel {
  const lowerLimit = (limit: RateLimitModel): RateLimitModel => ({
    ...limit,
    unit: limit.unlimited ? "" : limit.unit.toLowerCase(),
  });
  const lower = ({ rateLimit, rateLimits, ...descriptor }: DescriptorModel): DescriptorModel => ({
    ...descriptor,
    ...(rateLimit && { rateLimit: lowerLimit(rateLimit) }),
    ...(rateLimits && { rateLimits: rateLimits.map(lowerLimit) }),
    descriptors: descriptor.descriptors.map(lower),
  });
  return { ...model, descriptors: model.descriptors.map(lower) };
}

function manifestTree(root: YAMLMap, { name, namespace }: ManifestIdentity): YAMLMap {
  const metadata = namespace === undefined ? { name } : { name, namespace };
  const { contents } = new Document({ apiVersion: API_VERSION, kind: KIND, metadata }, OPTIONS);
  if (!isMap(contents)) throw new Error("A mapping did not become one");
  contents.set("spec", root);
  return contents;
}

/** Prints a map with the comments apart above it, right above its first line, and below it. */
function printed(
  contents: YAMLMap,
  comments: { readonly above: string | null; readonly header: string | null; readonly below: string | null },
): string {
  const document = new Document(undefined, OPTIONS);
  document.contents = contents;
  document.commentBefore = comments.above;
  document.comment = comments.below;
  const first = contents.items[0]?.key;
  if (isScalar(first)) first.commentBefore = comments.header;
  return document.toString({ lineWidth: 0 });
}

/** A rule as rule files write it; YAML leaves out what is undefined. */
function ruleOf({ key, value, rateLimit, rateLimits, descriptors, metadata, ...flags }: DescriptorModel): object {
  const set = Object.entries(flags).filter(([, isSet]) => isSet);
  return {
    key,
    value: value || undefined,
    rate_limit: rateLimit && limitOf(rateLimit),
    rate_limits: rateLimits?.map(limitOf),
    ...Object.fromEntries(set.map(([flag, isSet]) => [ruleFileName(flag), isSet])),
    metadata,
    descriptors: descriptors.length === 0 ? undefined : descriptors.map(ruleOf),
  };
}

function limitOf(limit: RateLimitModel): object {
  const { unit, requestsPerUnit, unlimited, name, replaces } = limit;
  const window = Object.entries(windowFieldsOf(limit)).map(([field, value]) => [ruleFileName(field), value] as const);
  return {
    unit: unlimited ? undefined : unit || undefined,
    requests_per_unit: unlimited && requestsPerUnit === 0 ? undefined : requestsPerUnit,
    unlimited: unlimited || undefined,
    name: name || undefined,
    replaces: replaces.length === 0 ? undefined : replaces,
    ...Object.fromEntries(window),
  };
}

/**
 * Takes away the comment above a mapping, which the parser gives to the mapping or to its first
 * key.
 */
function takeHeader(map: YAMLMap): string | null {
  const first = map.items[0]?.key;
  const header = joined(map.commentBefore, isScalar(first) ? first.commentBefore : null);
  map.commentBefore = null;
  if (isScalar(first)) first.commentBefore = null;
  return header;
}

function joined(...comments: readonly (string | null | undefined)[]): string | null {
  return comments.filter(Boolean).join("\n") || null;
}

function commentsOf(text: string): string[] {
  const comments: string[] = [];
  let isScalarNext = false;
  for (const token of new Lexer().lex(text)) {
    if (!isScalarNext && token.startsWith("#")) comments.push(token.slice(1).trim());
    isScalarNext = token === SCALAR_MARK && !isScalarNext;
  }
  return comments.filter((comment) => comment !== "");
}
