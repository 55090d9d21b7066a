// What is wrong in one text, and which domains it claims. Decides whether it holds manifests or rules. Pure.
import { excerpt } from "@weir/crds/rate-limit-config/excerpt";
import { manifestsOf } from "@weir/crds/rate-limit-config/manifest";
import type { ManifestDocument } from "@weir/crds/rate-limit-config/manifest";
import { fieldPath, modelOfResource } from "@weir/crds/rate-limit-config/translate";
import { readYamlDocuments } from "@weir/crds/rate-limit-config/yaml-documents";
import type { YamlDocument } from "@weir/crds/rate-limit-config/yaml-documents";
import type { RateLimitConfigModel } from "@weir/proto/rate-limit-config/model";
import { parseRuleFile } from "@weir/ratelimit/config/files/rule-file";

/** The beginning of a text that wants to be a manifest: in YAML the first column says so, in JSON the first names of the object. */
const MANIFEST_BEGINNING = /^(\{\s*)?["']?(apiVersion|kind)["']?\s*:/m;

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
  /** When it was created, in milliseconds since the epoch; 0 when it does not say, as in the control plane's directory source. */
  readonly createdMs: number;
  readonly domain: string;
  /** undefined: every fleet. */
  readonly fleets: readonly string[] | undefined;
  readonly nameAt: Place;
  readonly domainAt: Place;
  readonly rules: CheckedRules;
}

/** Rules that could be read. The validator has not seen those of rule files yet, because it looks at all files together. */
export interface CheckedRules {
  readonly model: RateLimitConfigModel;
  /** The place of a model's field in the text. */
  readonly placeOf: (path: readonly (string | number)[]) => Place;
}

/** What one text holds. */
export interface CheckedText {
  readonly problems: readonly CheckProblem[];
  readonly resources: readonly CheckedResource[];
  readonly rules?: CheckedRules;
}

/** Checks a text by itself. */
export function checkText(path: string, text: string): CheckedText {
  const documents = readYamlDocuments(text);
  if (documents.every((document) => document.value === null)) {
    const message = "holds neither a RateLimitConfig manifest nor rules";
    return { problems: [{ path, line: 1, column: 1, field: "", message }], resources: [] };
  }
  return isManifestText(documents, text) ? checkManifests(path, documents) : checkRules(path, text);
}

/** Whether a text, of which `documents` were read, wants to be a custom resource manifest rather than rules. */
export function isManifestText(documents: readonly YamlDocument[], text: string): boolean {
  const isManifest = documents.some(
    ({ value }) => typeof value === "object" && value !== null && ("apiVersion" in value || "kind" in value),
  );
  // A text that is no YAML has nothing but its looks.
  return isManifest || (documents.some(({ value }) => value === undefined) && MANIFEST_BEGINNING.test(text));
}

/** Checks the manifests of one text by themselves. */
export function checkManifests(path: string, documents: readonly YamlDocument[]): CheckedText {
  const manifests = manifestsOf(documents);
  return {
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

function checkRules(path: string, text: string): CheckedText {
  const file = parseRuleFile(path, text);
  if (file.ok) {
    return { problems: [], resources: [], rules: { model: file.model, placeOf: (inner) => ({ path, ...file.positionOf(inner) }) } };
  }
  const { message } = file.error;
  const prefix = `${path}: `;
  const problem = {
    path,
    line: file.line ?? 1,
    column: file.column ?? 1,
    field: "",
    // The path stands in front of the line anyway.
    message: excerpt(message.startsWith(prefix) ? message.slice(prefix.length) : message),
  };
  return { problems: [problem], resources: [] };
}

/** A model's field as rule files write it, e.g. `descriptors[2].rate_limit.unit`. */
export function ruleField(path: readonly (string | number)[]): string {
  return fieldPath(
    path.map((step) => (typeof step === "string" ? step.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : step)),
  );
}
