// Reads manifests as kubectl does, with line, column and field of everything that the API server or the data plane would
// refuse.
import { editDistance } from "@weir/common/text/edit-distance";
import { type PlainValue, readYamlDocuments, type YamlDocument } from "@weir/limits/go-yaml/json-documents";
import { excerpt, type SourceLocation } from "@weir/limits/go-yaml/node";
import { type FieldPath, fieldPath } from "@weir/limits/model/field-path";

import { API_VERSION, KIND, parseRateLimitConfigResource } from "../schema/schema.ts";
import type { RateLimitConfigResource } from "../schema/schema.ts";
import type { ManifestProblem } from "../../schema/problems.ts";
import { ruleProblems } from "../translate/translate.ts";

/** Texts that can be the name of an object at all (RFC 1123); the schema says it in words. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

const [GROUP = ""] = API_VERSION.split("/");

/** The end of every API group of ours. */
const DOMAIN = "weir.dev";

/** Most edits that a misspelt API group may be away from ours. */
const GROUP_EDITS_MAX = 3;

/** Most problems that are reported of one resource or text. */
const PROBLEMS_MAX = 100;

/**
 * Most items of one list, as many as a text may hold documents: each that is wrong is reported by
 * itself.
 */
const ITEMS_MAX = 10_000;

/** A problem in a text, and its place. */
export interface LocatedProblem extends SourceLocation {
  /**
   * For example `spec.descriptors[2].rateLimit.unit`; empty when the document as a whole is meant,
   * or is not valid YAML.
   */
  readonly field: string;
  readonly message: string;
  /** The other place of a duplicate. */
  readonly also?: SourceLocation;
}

/** Name and namespace as they are written. */
export interface ManifestIdentity {
  readonly name: string;
  readonly namespace?: string;
}

/** The place of a manifest in a text. */
export interface ManifestPlace {
  /** Position of its document, from 0, empty ones included. */
  readonly document: number;
  /** Its path inside when it is an item of a list. */
  readonly path: FieldPath;
}

/** Another kind that a text may hold. */
export interface ManifestKind<Resource> {
  readonly kind: string;
  /** Checks a value that says that it is of the kind. */
  readonly check: (value: PlainValue) => {
    /** Present when the schema accepts it. */
    readonly resource?: Resource;
    readonly problems: readonly ManifestProblem[];
    readonly warnings: readonly ManifestProblem[];
  };
}

/** One resource of a text, or what should have been one. */
export interface ManifestDocument<Other = never> {
  /** Position among the resources of the text, from 0; the items of a list count one by one. */
  readonly index: number;
  readonly place: ManifestPlace;
  /** Line on which it begins. */
  readonly line: number;
  /** Present when the schema accepts it, also when the rules inside have problems. */
  readonly resource?: RateLimitConfigResource;
  /** The same of another kind. */
  readonly other?: Other;
  /**
   * Its name, as far as it is a RateLimitConfig with a name that can be one; also when the schema
   * refuses the rest.
   */
  readonly identity?: ManifestIdentity;
  readonly problems: readonly LocatedProblem[];
  /** Content that is valid and perhaps not meant, as far as its kind finds it by itself. */
  readonly warnings?: readonly LocatedProblem[];
  /** Set when it is of another kind and was therefore not checked. */
  readonly isSkipped?: true;
  /** The place of a field of the resource, or of the nearest thing around it. */
  readonly locate: (path: FieldPath) => SourceLocation;
}

/**
 * Reads every resource of a text: documents separated by `---`, lists with `items`, YAML or JSON.
 * Empty documents are skipped.
 */
export function readManifests(text: string): readonly ManifestDocument[] {
  return manifestsOf(readYamlDocuments(text));
}

/** How texts are read. */
export interface ManifestOptions<Other> {
  /**
   * How documents of other kinds are treated. "skip" leaves out what has another API group, also when its
   * kind has the name of one of ours, as kinds of other products have; "skip-in-streams" does so next to other
   * documents only, as helm and kustomize print them.
   */
  readonly otherKinds?: "refuse" | "skip" | "skip-in-streams";
  /** Another kind of ours that is read. */
  readonly kind?: ManifestKind<Other>;
}

/** The same of a text whose YAML is read already. */
export function manifestsOf<Other = never>(
  documents: readonly YamlDocument[],
  { otherKinds = "refuse", kind }: ManifestOptions<Other> = {},
): readonly ManifestDocument<Other>[] {
  const kinds = [KIND, ...(kind === undefined ? [] : [kind.kind])];
  const isLenient = otherKinds === "skip" || (otherKinds === "skip-in-streams" && isStream(documents));
  const isSkipped = (value: PlainValue | undefined): boolean => isLenient && isOtherKind(value, kinds);
  return documents
    .flatMap((document, number) =>
      document.value === null ? [] : candidatesOf(document, number, { kinds, isSkipped: isSkipped(document.value) }),
    )
    .map((candidate, index) => readCandidate(candidate, index, { kind, isSkipped: isSkipped(candidate.value) }));
}

/** Returns true if a text holds more than one document or item. */
function isStream(documents: readonly YamlDocument[]): boolean {
  const [first, ...others] = documents.filter(({ value }) => value !== null);
  const items = isMapping(first?.value) ? first.value["items"] : undefined;
  return others.length > 0 || (Array.isArray(items) && items.length > 1);
}

/** The first problems, and in place of the others one that counts them. */
export function firstProblems<Problem extends { readonly message: string }>(
  problems: readonly Problem[],
): readonly Problem[] {
  const next = problems[PROBLEMS_MAX];
  if (next === undefined) return problems;
  const message = `${problems.length - PROBLEMS_MAX} more problems from here on`;
  return [...problems.slice(0, PROBLEMS_MAX), { ...next, ...("field" in next && { field: "" }), message }];
}

/** A value that should be a resource, and its place in its document. */
interface Candidate {
  readonly document: YamlDocument;
  readonly value: PlainValue | undefined;
  readonly place: ManifestPlace;
}

function candidatesOf(
  document: YamlDocument,
  number: number,
  { kinds, isSkipped }: { readonly kinds: readonly string[]; readonly isSkipped: boolean },
): readonly Candidate[] {
  const { value } = document;
  const whole: ManifestPlace = { document: number, path: [] };
  const listed = isMapping(value) ? kinds.find((kind) => value["kind"] === `${kind}List`) : undefined;
  const isOurs = isMapping(value) && kinds.some((kind) => value["kind"] === kind);
  const items = !isSkipped && isMapping(value) && !isOurs ? value["items"] : undefined;
  // The problems of a document that is not understood are reported once, whether it is a list or not.
  if (!isMapping(value) || !Array.isArray(items) || document.problems.length > 0)
    return [{ document, value, place: whole }];
  if (items.length > ITEMS_MAX) {
    const message = `the list holds more than ${ITEMS_MAX} items`;
    const problems = [{ ...document.locate(["items", ITEMS_MAX], "value"), message }];
    return [{ document: { ...document, problems }, value: undefined, place: whole }];
  }
  // The items of a typed list may leave out what the list says already.
  const isTyped = listed !== undefined && value["apiVersion"] === API_VERSION;
  return (items as readonly PlainValue[]).map((item, index) => ({
    document,
    value: isTyped && isMapping(item) ? { apiVersion: API_VERSION, kind: listed, ...item } : item,
    place: { document: number, path: ["items", index] },
  }));
}

/**
 * Returns true if a value says that it is an object of Kubernetes, and none of ours. A list is what
 * its items are.
 */
function isOtherKind(value: PlainValue | undefined, kinds: readonly string[]): boolean {
  if (!isMapping(value)) return false;
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || apiVersion === "" || kind === "" || kind === "List")
    return false;
  const [group = "", version] = apiVersion.split("/");
  if (group === GROUP) return false;
  return !kinds.includes(kind) || (version !== undefined && !isMisspeltGroup(group));
}

/** Returns true if an API group of one of our kinds is probably ours, and not that of another product. */
function isMisspeltGroup(group: string): boolean {
  return group.endsWith(DOMAIN) || (group.length <= 2 * GROUP.length && editDistance(group, GROUP) <= GROUP_EDITS_MAX);
}

function readCandidate<Other>(
  { document, value, place }: Candidate,
  index: number,
  { kind, isSkipped }: { readonly kind: ManifestKind<Other> | undefined; readonly isSkipped: boolean },
): ManifestDocument<Other> {
  const locate = (inner: FieldPath): SourceLocation => document.locate([...place.path, ...inner], "value");
  const found = { index, place, line: locate([]).line, locate };
  if (isSkipped) return { ...found, problems: [], isSkipped };
  if (value === undefined || document.problems.length > 0)
    return { ...found, problems: firstProblems(document.problems).map((problem) => ({ ...problem, field: "" })) };
  const placed = (problems: readonly ManifestProblem[]): readonly LocatedProblem[] =>
    firstProblems(
      problems
        .map((problem) => placeProblem(problem, { document, place }))
        .toSorted((left, right) => left.line - right.line || left.column - right.column),
    );
  if (kind !== undefined && isMapping(value) && value["kind"] === kind.kind) {
    const { resource, problems, warnings } = kind.check(value);
    return {
      ...found,
      ...(resource !== undefined && { other: resource }),
      problems: placed(problems),
      warnings: placed(warnings),
    };
  }
  const parsed = parseRateLimitConfigResource(value);
  const identity = identityIn(value);
  const problems = parsed.ok ? ruleProblems(parsed.resource) : parsed.problems;
  return {
    ...found,
    ...(parsed.ok && { resource: parsed.resource }),
    ...(identity && { identity }),
    ...(parsed.ok && parsed.warnings.length > 0 && { warnings: placed(parsed.warnings) }),
    problems: placed(kind === undefined ? problems : problems.map((problem) => withKinds(problem, kind.kind))),
  };
}

/** The problem in the text; of a duplicate with the place of the first. */
function placeProblem(
  { path, message, about, first }: ManifestProblem,
  { document, place }: Pick<Candidate, "document" | "place">,
): LocatedProblem {
  const whole = [...place.path, ...path];
  const at = document.locate(whole, about === "name" ? "key" : "value");
  const problem = { ...at, field: excerpt(fieldPath(whole)), message: excerpt(message) };
  if (first === undefined) return problem;
  const also = document.locate([...place.path, ...first], "value");
  return { ...problem, message: `${problem.message} on line ${also.line}`, also };
}

/** A problem of the kind names all kinds that are read. */
function withKinds(problem: ManifestProblem, other: string): ManifestProblem {
  if (fieldPath(problem.path) !== "kind") return problem;
  const known = [KIND, other].map((kind) => JSON.stringify(kind)).join(", ");
  return { ...problem, message: problem.message.replace(`must be ${JSON.stringify(KIND)}`, `must be one of ${known}`) };
}

function identityIn(value: PlainValue): ManifestIdentity | undefined {
  if (!isMapping(value) || value["kind"] !== KIND || !isMapping(value["metadata"])) return undefined;
  const { name, namespace } = value["metadata"];
  if (typeof name !== "string" || !NAME.test(name)) return undefined;
  // As the schema has it: null and the empty text count as absent.
  if (namespace === undefined || namespace === null || namespace === "") return { name };
  return typeof namespace === "string" && NAME.test(namespace) ? { name, namespace } : undefined;
}

function isMapping(value: PlainValue | undefined): value is Readonly<Record<string, PlainValue>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
