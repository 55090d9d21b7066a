// Manifests: text → resources, with line, column and field of everything that is wrong. Reads files
// as kubectl does, and refuses what the API server would refuse, or the data plane.
import { findProblems } from "@weir/limits/validate/validate";

import { excerpt } from "./excerpt.ts";
import type { ManifestProblem } from "./problems.ts";
import { API_VERSION, KIND, parseRateLimitConfigResource } from "./schema.ts";
import type { RateLimitConfigResource } from "./schema.ts";
import { fieldPath, modelOfResource } from "./translate.ts";
import { readYamlDocuments } from "./yaml-documents.ts";
import type { Position, YamlDocument } from "./yaml-documents.ts";
import type { PlainValue } from "./yaml-values.ts";

/** What can be the name of an object at all (RFC 1123); the schema says it in words. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Most problems that are told of one resource; who has more will not read them all. */
const PROBLEMS_MAX = 100;

/**
 * Most items of one list, as many as a text may hold documents: each that is wrong is told by
 * itself.
 */
const ITEMS_MAX = 10_000;

/** What is wrong in a text, and where. */
export interface LocatedProblem {
  /** Counts from 1. */
  readonly line: number;
  /** Counts from 1. */
  readonly column: number;
  /**
   * For example `spec.descriptors[2].rateLimit.unit`; empty when the document as a whole is meant,
   * or is not valid YAML.
   */
  readonly field: string;
  readonly message: string;
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
  readonly path: readonly (string | number)[];
}

/** One resource of a text, or what should have been one. */
export interface ManifestDocument {
  /** Position among the resources of the text, from 0; the items of a list count one by one. */
  readonly index: number;
  readonly place: ManifestPlace;
  /** Line on which it begins. */
  readonly line: number;
  /** Present when the schema accepts it, also when the rules inside have problems. */
  readonly resource?: RateLimitConfigResource;
  /**
   * What it is called, as far as it is a RateLimitConfig with a name that can be one; also when the
   * schema refuses the rest.
   */
  readonly identity?: ManifestIdentity;
  readonly problems: readonly LocatedProblem[];
  /** Set when it is of another kind and was therefore not looked at. */
  readonly isSkipped?: true;
  /** The place of a field of the resource, or of the nearest thing around it. */
  locate(path: readonly (string | number)[]): Position;
}

/**
 * Reads every resource of a text: documents separated by `---`, lists with `items`, YAML or JSON.
 * Empty documents are skipped.
 */
export function readManifests(text: string): readonly ManifestDocument[] {
  return manifestsOf(readYamlDocuments(text));
}

/**
 * The same of a text whose YAML is read already. Documents of other kinds are wrong, unless
 * `otherKinds` says to skip them: what has neither our API group nor our kind is then anybody's,
 * while what has one of the two is still misspelt.
 */
export function manifestsOf(
  documents: readonly YamlDocument[],
  { otherKinds = "refuse" }: { readonly otherKinds?: "refuse" | "skip" } = {},
): readonly ManifestDocument[] {
  const isSkipped = otherKinds === "skip" ? isOtherKind : (): boolean => false;
  return documents
    .flatMap((document, number) =>
      document.value === null ? [] : candidatesOf(document, number, isSkipped(document.value)),
    )
    .map((candidate, index) => readCandidate(candidate, index, isSkipped(candidate.value)));
}

/** A value that should be a resource, and where it stands in its document. */
interface Candidate {
  readonly document: YamlDocument;
  readonly value: PlainValue | undefined;
  readonly place: ManifestPlace;
}

function candidatesOf(document: YamlDocument, number: number, isSkipped: boolean): readonly Candidate[] {
  const { value } = document;
  const whole: ManifestPlace = { document: number, path: [] };
  const items = !isSkipped && isMapping(value) && value["kind"] !== KIND ? value["items"] : undefined;
  // Of a document that is not understood, nobody knows whether it is a list; its problems are told
  // once.
  if (!isMapping(value) || !Array.isArray(items) || document.problems.length > 0)
    return [{ document, value, place: whole }];
  if (items.length > ITEMS_MAX) {
    const problem = {
      ...document.locate(["items", ITEMS_MAX], "value"),
      message: `the list holds more than ${ITEMS_MAX} items`,
    };
    return [{ document: { ...document, problems: [problem] }, value: undefined, place: whole }];
  }
  return (items as readonly PlainValue[]).map((item, index) => {
    return { document, value: withKindOfList(item, value), place: { document: number, path: ["items", index] } };
  });
}

/** The items of a typed list may leave out what the list says already. */
function withKindOfList(item: PlainValue, list: Readonly<Record<string, PlainValue>>): PlainValue {
  const isTyped = list["kind"] === `${KIND}List` && list["apiVersion"] === API_VERSION;
  return isTyped && isMapping(item) ? { apiVersion: API_VERSION, kind: KIND, ...item } : item;
}

/**
 * Whether a value says that it is an object of Kubernetes, and none of ours. A list is what its
 * items are.
 */
function isOtherKind(value: PlainValue | undefined): boolean {
  if (!isMapping(value)) return false;
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || apiVersion === "" || kind === "" || kind === "List")
    return false;
  return apiVersion.split("/")[0] !== API_VERSION.split("/")[0] && kind !== KIND;
}

function readCandidate({ document, value, place }: Candidate, index: number, isSkipped: boolean): ManifestDocument {
  const locate = (inner: readonly (string | number)[]): Position => document.locate([...place.path, ...inner], "value");
  const located = (problem: ManifestProblem): LocatedProblem => {
    const whole = [...place.path, ...problem.path];
    const position = document.locate(whole, problem.about === "name" ? "key" : "value");
    return { ...position, field: excerpt(fieldPath(whole)), message: excerpt(problem.message) };
  };
  const found = { index, place, line: locate([]).line, locate };
  if (isSkipped) return { ...found, problems: [], isSkipped };
  const inOrder = (problems: readonly ManifestProblem[]): readonly LocatedProblem[] => {
    const sorted = problems
      .map(located)
      .toSorted((left, right) => left.line - right.line || left.column - right.column);
    const next = sorted[PROBLEMS_MAX];
    if (next === undefined) return sorted;
    return [
      ...sorted.slice(0, PROBLEMS_MAX),
      { ...next, field: "", message: `${sorted.length - PROBLEMS_MAX} more problems from here on` },
    ];
  };
  const syntax = document.problems.map(({ line, column, message }) => ({ line, column, field: "", message }));
  if (value === undefined || syntax.length > 0) return { ...found, problems: syntax };
  const parsed = parseRateLimitConfigResource(value);
  const identity = identityIn(value);
  if (!parsed.ok)
    return { ...found, ...(identity === undefined ? {} : { identity }), problems: inOrder(parsed.problems) };
  const problems = findProblems(modelOfResource(parsed.resource)).map(({ path: inner, message }) => ({
    path: ["spec", ...inner],
    message,
  }));
  return {
    ...found,
    resource: parsed.resource,
    ...(identity === undefined ? {} : { identity }),
    problems: inOrder(problems),
  };
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
