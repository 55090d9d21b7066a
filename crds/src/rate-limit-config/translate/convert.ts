// Converts the text of rules to the other spelling, rule file to manifest and back, with comments and layout as far as
// YAML lets them stay. The caller compares what the result means with what was meant.
import type { SourceLocation } from "@weir/limits/go-yaml/node";
import type { DescriptorModel, RateLimitConfigModel } from "@weir/limits/model/model";
import { Document, isMap, isScalar, Lexer, LineCounter, parseAllDocuments } from "yaml";
import type { DocumentOptions, ParseOptions, SchemaOptions, Tags, YAMLMap } from "yaml";

import type { ManifestPlace } from "../manifest/manifest.ts";
import { API_VERSION, KIND } from "../schema/schema.ts";
import { rewriteRules, spelled } from "./rewrite-tree.ts";
import type { Spelling } from "./rewrite-tree.ts";

/** What the lexer puts before the text of a scalar. */
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

/** The name that a manifest gives its rules. */
export interface ManifestName {
  readonly name: string;
  /** Left out when absent. */
  readonly namespace?: string;
}

/**
 * The manifest of a rule file, whose first document `model` was read from. Undefined when its
 * layout cannot be kept.
 */
export function manifestOfRules(
  text: string,
  model: RateLimitConfigModel,
  name: ManifestName,
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
export function manifestOfModel(model: RateLimitConfigModel, name: ManifestName): string {
  const { contents } = documentOf(withLowerUnits(model), "manifest");
  if (!isMap(contents)) throw new Error("A mapping did not become one");
  return printed(manifestTree(contents, name), { above: null, header: null, below: null });
}

/** A rule file written anew. */
export function rulesOfModel(model: RateLimitConfigModel): string {
  return documentOf(model, "rules").toString({ lineWidth: 0 });
}

/** Comments of a text that another does not have. */
export function lostComments(before: string, after: string): readonly string[] {
  const left = Map.groupBy(commentsOf(after), (comment) => comment);
  return commentsOf(before).filter((comment) => left.get(comment)?.pop() === undefined);
}

/** The model as manifests must write it: units in lower case. */
export function withLowerUnits(model: RateLimitConfigModel): RateLimitConfigModel {
  const lower = ({ rateLimit, ...descriptor }: DescriptorModel): DescriptorModel => ({
    ...descriptor,
    ...(rateLimit && {
      rateLimit: { ...rateLimit, unit: rateLimit.unlimited ? "" : rateLimit.unit.toLowerCase() },
    }),
    descriptors: descriptor.descriptors.map(lower),
  });
  return { ...model, descriptors: model.descriptors.map(lower) };
}

function manifestTree(root: YAMLMap, { name, namespace }: ManifestName): YAMLMap {
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

/** The rules without what is at its default. */
function documentOf({ domain, descriptors }: RateLimitConfigModel, to: Spelling): Document {
  return new Document(withoutDefaults({ domain, descriptors: descriptors.map(plainDescriptor) }, to), OPTIONS);
}

function plainDescriptor({ rateLimit, descriptors, ...fields }: DescriptorModel): object {
  const { key, value, metadata, ...flags } = fields;
  const { unit, requestsPerUnit, ...rest } = rateLimit ?? {};
  const isBlank = rateLimit?.unlimited === true && requestsPerUnit === 0;
  const limit = {
    unit: rateLimit?.unlimited === true ? "" : unit,
    requestsPerUnit: isBlank ? undefined : requestsPerUnit,
    ...rest,
  };
  return {
    key,
    value,
    rateLimit: rateLimit && limit,
    ...flags,
    metadata,
    descriptors: descriptors.map(plainDescriptor),
  };
}

function withoutDefaults(fields: object, to: Spelling): object {
  const isDefault = (value: unknown): boolean =>
    value === undefined || value === "" || value === false || (Array.isArray(value) && value.length === 0);
  const plain = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? withoutDefaults(value, to) : value;
  const written = Object.entries(fields)
    .filter(([, value]) => !isDefault(value))
    .map(([field, value]: [string, unknown]) => {
      if (field === "metadata") return [field, value];
      return [spelled(field, to), Array.isArray(value) ? value.map(plain) : plain(value)];
    });
  return Object.fromEntries(written) as object;
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
