// What is wrong in one text, and which domains it claims. Decides whether it holds manifests or
// rules. Pure.
import { excerpt } from "@weir/crds/rate-limit-config/excerpt";
import { manifestsOf } from "@weir/crds/rate-limit-config/manifest";
import type { ManifestDocument } from "@weir/crds/rate-limit-config/manifest";
import { fieldPath, modelOfResource } from "@weir/crds/rate-limit-config/translate";
import { readYamlDocuments } from "@weir/crds/rate-limit-config/yaml-documents";
import type { YamlDocument } from "@weir/crds/rate-limit-config/yaml-documents";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { parseRuleFile } from "@weir/ratelimit/config/files/rule-file";

/**
 * The beginning of a text that wants to be a manifest: in YAML the first column says so, in JSON
 * the first names of the object.
 */
const MANIFEST_BEGINNING = /^(\{\s*)?["']?(apiVersion|kind)["']?\s*:/m;

/** What is found in a text without anything in it. */
const NOTHING = { problems: [], warnings: [], resources: [], skipped: 0 } as const;

/** A place in a file; line and column count from 1. */
export interface Place {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong. */
export interface CheckProblem extends Place {
  /** Empty when no field is to blame. */
  readonly field: string;
  readonly message: string;
  /** The other place, when two places do not go together. */
  readonly also?: Place;
}

/** A custom resource that the schema accepts. */
export interface CheckedResource {
  readonly namespace: string;
  readonly name: string;
  /**
   * When it was created, in milliseconds since the epoch; 0 when it does not say, as in the control
   * plane's directory source.
   */
  readonly createdMs: number;
  readonly domain: string;
  /** undefined: every fleet. */
  readonly fleets: readonly string[] | undefined;
  readonly nameAt: Place;
  readonly domainAt: Place;
  readonly rules: CheckedRules;
}

/**
 * Rules that could be read. The validator has not seen those of rule files yet, because it looks at
 * all files together.
 */
export interface CheckedRules {
  readonly model: RateLimitConfigModel;
  /** The place of a model's field in the text. */
  readonly placeOf: (path: readonly (string | number)[]) => Place;
}

/** What one text holds. */
export interface CheckedText {
  readonly problems: readonly CheckProblem[];
  /** What a reader may not have meant, although it is valid. */
  readonly warnings: readonly CheckProblem[];
  /** Documents of other kinds that were not looked at. */
  readonly skipped: number;
  readonly resources: readonly CheckedResource[];
  readonly rules?: CheckedRules;
}

/** How texts are checked. */
export interface CheckOptions {
  /** Whether manifests of other kinds are let alone instead of being refused. */
  readonly skipOtherKinds: boolean;
}

/** Checks a text by itself. */
export function checkText(path: string, text: string, options: CheckOptions): CheckedText {
  const documents = readYamlDocuments(text);
  if (documents.every((document) => document.value === null)) return emptyText(path);
  return isManifestText(documents, text) ? checkManifests(path, documents, options) : checkRules(path, text, documents);
}

function emptyText(path: string): CheckedText {
  const message = "holds neither a RateLimitConfig manifest nor rules";
  return { ...NOTHING, problems: [{ path, line: 1, column: 1, field: "", message }] };
}

/**
 * Whether a text, of which `documents` were read, wants to be a custom resource manifest rather
 * than rules.
 */
export function isManifestText(documents: readonly YamlDocument[], text: string): boolean {
  const isManifest = documents.some(
    ({ value }) => typeof value === "object" && value !== null && ("apiVersion" in value || "kind" in value),
  );
  // A text that is no YAML has nothing but its looks.
  return isManifest || (documents.some(({ value }) => value === undefined) && MANIFEST_BEGINNING.test(text));
}

/** Checks the manifests of one text by themselves. */
export function checkManifests(path: string, documents: readonly YamlDocument[], options: CheckOptions): CheckedText {
  const manifests = manifestsOf(documents, { otherKinds: options.skipOtherKinds ? "skip" : "refuse" });
  // An empty list, which kubectl does not apply either.
  if (manifests.length === 0) return emptyText(path);
  return {
    ...NOTHING,
    skipped: manifests.filter(({ isSkipped }) => isSkipped).length,
    problems: manifests.flatMap(({ problems }) => problems.map((problem) => ({ path, ...problem }))),
    resources: manifests.flatMap((manifest) => checkedResource(path, manifest)),
  };
}

function checkedResource(path: string, document: ManifestDocument): readonly CheckedResource[] {
  const { resource } = document;
  if (resource === undefined) return [];
  // The schema lets no slash into either.
  const model = modelOfResource(resource);
  const [namespace = "", name = ""] = model.name.split("/");
  const { creationTimestamp } = resource.metadata;
  return [
    {
      namespace,
      name,
      createdMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
      domain: resource.spec.domain,
      fleets: resource.spec.fleets,
      nameAt: { path, ...document.locate(["metadata", "name"]) },
      domainAt: { path, ...document.locate(["spec", "domain"]) },
      rules: { model, placeOf: (inner) => ({ path, ...document.locate(["spec", ...inner]) }) },
    },
  ];
}

function checkRules(path: string, text: string, documents: readonly YamlDocument[]): CheckedText {
  const file = parseRuleFile(path, text);
  if (file.ok) {
    const rules = {
      model: file.model,
      placeOf: (inner: readonly (string | number)[]): Place => ({ path, ...file.positionOf(inner) }),
    };
    return { ...NOTHING, warnings: ruleWarnings(path, documents), rules };
  }
  const { message } = file.error;
  const prefix = `${path}: `;
  const problem = {
    path,
    line: file.line ?? 1,
    column: file.column ?? 1,
    field: "",
    // The path stands in front of the line anyway.
    message: excerpt(withHint(message.startsWith(prefix) ? message.slice(prefix.length) : message)),
  };
  return { ...NOTHING, problems: [problem] };
}

/** The reference's own words, which say nothing of what is wrong, and what they mean. */
function withHint(message: string): string {
  return message === "error checking config"
    ? `${message}: a value must be a text, a whole number that fits 64 bits, true or false`
    : message;
}

/** What a rate limit pod passes over without a word. */
function ruleWarnings(path: string, documents: readonly YamlDocument[]): readonly CheckProblem[] {
  const [first, ...others] = documents.filter(({ value }, index) => index === 0 || value !== null);
  const twice = (first?.problems ?? []).filter(({ message }) => message.startsWith("duplicate key "));
  return [
    ...twice.map((problem) => ({ path, field: "", ...problem, message: `${problem.message}: the last one counts` })),
    ...others.map(({ start }) => ({
      path,
      ...start,
      field: "",
      message: "left out: of a rule file only the first document is read",
    })),
  ];
}

/** A model's field as rule files write it, e.g. `descriptors[2].rate_limit.unit`. */
export function ruleField(path: readonly (string | number)[]): string {
  return fieldPath(
    path.map((step) =>
      typeof step === "string" ? step.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : step,
    ),
  );
}
