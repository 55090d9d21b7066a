// Text of rules in the other spelling: rule file → manifest and back, with comments and layout as
// far as YAML lets them stay. Reading and judging the rules is the caller's; so is comparing what
// the result means with what was meant.
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "@weir/limits/model/model";
import { Document, isMap, isNode, isScalar, Lexer, LineCounter, Pair, parseAllDocuments, Scalar, YAMLMap } from "yaml";
import type { DocumentOptions, ParseOptions, SchemaOptions, Tags } from "yaml";

import type { ManifestPlace } from "./manifest.ts";
import { rewriteRules, spelled } from "./rewrite-tree.ts";
import type { RewriteNotes, Spelling } from "./rewrite-tree.ts";
import { API_VERSION, KIND } from "./schema.ts";
import type { Position } from "./yaml-documents.ts";

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
export interface ConversionNote extends Position {
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
  const notes = rewriteRules(document.contents, withLowerUnits(model), "manifest");
  const root = document.contents;
  const header = takeHeader(root);
  return printed(
    manifestTree(root, name),
    { above: document.commentBefore, header, below: document.comment },
    placed(notes, lines),
  );
}

/**
 * Gives the rule file of a manifest, whose model somebody has read from the same text, once.
 * Undefined when its layout cannot be kept.
 */
export type RulesOfManifest = (model: RateLimitConfigModel, at: ManifestPlace) => ConvertedText | undefined;

/** Parses a text of manifests, for the rule file of each. */
export function rulesOfManifests(text: string): RulesOfManifest {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { ...OPTIONS, lineCounter: lines });
  return (model, at) => rulesOf(documents[at.document], model, { at, lines });
}

function rulesOf(
  document: Document | undefined,
  model: RateLimitConfigModel,
  { at, lines }: { readonly at: ManifestPlace; readonly lines: LineCounter },
): ConvertedText | undefined {
  const resource = document?.getIn(at.path, true);
  if (document === undefined || !isMap(resource)) return undefined;
  const spec = resource.items.find((pair) => nameOf(pair) === "spec");
  if (!isMap(spec?.value)) return undefined;
  const notes = rewriteRules(spec.value, model, "rules");
  const root = spec.value;
  const isFirst = at.path.every((step) => step === "items" || step === 0);
  const outer = isFirst && isMap(document.contents) ? takeHeader(document.contents) : null;
  const own = resource === document.contents ? null : takeHeader(resource);
  const header = joined(outer, own, isScalar(spec.key) ? spec.key.commentBefore : null, takeHeader(root));
  const around = isFirst ? { above: document.commentBefore, below: document.comment } : { above: null, below: null };
  return printed(root, { ...around, header }, placed({ ...notes, omitted: [] }, lines));
}

/** The same without any layout to keep: written anew from what the rules mean. */
export function manifestOfModel(model: RateLimitConfigModel, name: ManifestName): string {
  const { domain, descriptors } = withLowerUnits(model);
  const { contents } = new Document(spec(domain, descriptors, "manifest"), OPTIONS);
  if (!isMap(contents)) throw new Error("A mapping did not become one");
  return printed(manifestTree(contents, name), { above: null, header: null, below: null }, []).text;
}

/** A rule file written anew from what the rules mean. */
export function rulesOfModel(model: RateLimitConfigModel): string {
  return new Document(spec(model.domain, model.descriptors, "rules"), OPTIONS).toString({ lineWidth: 0 });
}

/** Comments of a text that another does not have. */
export function lostComments(before: string, after: string): readonly string[] {
  const left = Map.groupBy(commentsOf(after), (comment) => comment);
  return commentsOf(before).filter((comment) => left.get(comment)?.pop() === undefined);
}

/** The model as manifests must write it: units in lower case. */
export function withLowerUnits(model: RateLimitConfigModel): RateLimitConfigModel {
  const lower = (descriptor: DescriptorModel): DescriptorModel => ({
    ...descriptor,
    ...(descriptor.rateLimit === undefined
      ? {}
      : {
          rateLimit: {
            ...descriptor.rateLimit,
            unit: descriptor.rateLimit.unlimited ? "" : descriptor.rateLimit.unit.toLowerCase(),
          },
        }),
    descriptors: descriptor.descriptors.map(lower),
  });
  return { ...model, descriptors: model.descriptors.map(lower) };
}

function manifestTree(root: YAMLMap, { name, namespace }: ManifestName): YAMLMap {
  const manifest = new YAMLMap();
  const metadata = new YAMLMap();
  metadata.set("name", new Scalar(name));
  if (namespace !== undefined) metadata.set("namespace", new Scalar(namespace));
  manifest.add(new Pair(new Scalar("apiVersion"), new Scalar(API_VERSION)));
  manifest.set("kind", new Scalar(KIND));
  manifest.set("metadata", metadata);
  manifest.set("spec", root);
  return manifest;
}

/** Comments of a whole text: apart above it, right above its first line, and below it. */
interface OuterComments {
  readonly above: string | null;
  readonly header: string | null;
  readonly below: string | null;
}

function printed(
  contents: YAMLMap,
  { above, header, below }: OuterComments,
  notes: readonly ConversionNote[],
): ConvertedText {
  const document = new Document(undefined, OPTIONS);
  document.contents = contents;
  document.commentBefore = above;
  document.comment = below;
  const first = contents.items[0]?.key;
  if (isScalar(first)) first.commentBefore = header;
  return { text: document.toString({ lineWidth: 0 }), notes };
}

function placed({ omitted, missingRequests }: RewriteNotes, lines: LineCounter): readonly ConversionNote[] {
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  return [
    ...omitted.map(({ name, offset }) => ({ ...at(offset), message: `${name} means nothing here and is left out` })),
    ...missingRequests.map(({ offset }) => ({
      ...at(offset),
      message: "requests_per_unit is missing, which means 0: every request is rejected",
    })),
  ];
}

/** The rules as a plain value, without what is at its default. */
function spec(
  domain: string,
  descriptors: readonly DescriptorModel[],
  to: Spelling,
): Readonly<Record<string, unknown>> {
  return {
    domain,
    ...(descriptors.length === 0
      ? {}
      : { descriptors: descriptors.map((descriptor) => plainDescriptor(descriptor, to)) }),
  };
}

function plainDescriptor(descriptor: DescriptorModel, to: Spelling): Readonly<Record<string, unknown>> {
  const { key, value, rateLimit, descriptors, metadata, ...flags } = descriptor;
  const entries: readonly (readonly [string, unknown])[] = [
    ["key", key],
    ["value", value === "" ? undefined : value],
    ["rateLimit", rateLimit && plainLimit(rateLimit, to)],
    ...Object.entries(flags).map(([flag, isOn]) => [flag, isOn ? true : undefined] as const),
    ["metadata", metadata],
    ["descriptors", descriptors.length === 0 ? undefined : descriptors.map((inner) => plainDescriptor(inner, to))],
  ];
  return defined(entries, to);
}

function plainLimit(
  { unit, requestsPerUnit, unlimited, name, replaces }: RateLimitModel,
  to: Spelling,
): Readonly<Record<string, unknown>> {
  const entries: readonly (readonly [string, unknown])[] = [
    ["unit", unlimited ? undefined : unit],
    ["requestsPerUnit", unlimited && requestsPerUnit === 0 ? undefined : requestsPerUnit],
    ["unlimited", unlimited ? true : undefined],
    ["name", name === "" ? undefined : name],
    ["replaces", replaces.length === 0 ? undefined : replaces.map((replaced) => ({ name: replaced.name }))],
  ];
  return defined(entries, to);
}

function defined(entries: readonly (readonly [string, unknown])[], to: Spelling): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    entries.filter(([, value]) => value !== undefined).map(([field, value]) => [spelled(field, to), value]),
  );
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
  const said = comments.filter((comment) => comment !== null && comment !== undefined && comment !== "");
  return said.length === 0 ? null : said.join("\n");
}

function nameOf(pair: Pair): string {
  return isNode(pair.key) && isScalar(pair.key) ? String(pair.key.value) : "";
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
