// What is wrong in one text, and which domains it claims. Decides whether it holds manifests or rules. Pure.
import { readManifests } from "@weir/crds/rate-limit-config/manifest";
import type { ManifestDocument } from "@weir/crds/rate-limit-config/manifest";
import { fieldPath, modelOfResource } from "@weir/crds/rate-limit-config/translate";
import { readYamlDocuments } from "@weir/crds/rate-limit-config/yaml-documents";
import type { RateLimitConfigModel } from "@weir/proto/rate-limit-config/model";
import { parseRuleFile } from "@weir/ratelimit/config/files/rule-file";

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
  /** `<namespace>/<name>`. */
  readonly name: string;
  readonly domain: string;
  /** undefined: every fleet. */
  readonly fleets: readonly string[] | undefined;
  readonly nameAt: Place;
  readonly domainAt: Place;
}

/** Rules of one file that could be read; the validator has not seen them yet, because it looks at all files together. */
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
  const isManifest = documents.some(
    ({ value }) => typeof value === "object" && value !== null && ("apiVersion" in value || "kind" in value),
  );
  // A text that is no YAML says what it wants to be only by its first column.
  const isBrokenManifest = documents.some(({ value }) => value === undefined) && /^["']?(apiVersion|kind)["']?\s*:/m.test(text);
  return isManifest || isBrokenManifest ? checkManifests(path, text) : checkRules(path, text);
}

function checkManifests(path: string, text: string): CheckedText {
  const documents = readManifests(text);
  return {
    problems: documents.flatMap(({ problems }) => problems.map((problem) => ({ path, ...problem }))),
    resources: documents.flatMap((document) => checkedResource(path, document)),
  };
}

function checkedResource(path: string, document: ManifestDocument): readonly CheckedResource[] {
  const { resource } = document;
  if (resource === undefined) return [];
  return [
    {
      name: modelOfResource(resource).name,
      domain: resource.spec.domain,
      fleets: resource.spec.fleets,
      nameAt: { path, ...document.locate(["metadata", "name"]) },
      domainAt: { path, ...document.locate(["spec", "domain"]) },
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
    message: message.startsWith(prefix) ? message.slice(prefix.length) : message,
  };
  return { problems: [problem], resources: [] };
}

/** A model's field as rule files write it, e.g. `descriptors[2].rate_limit.unit`. */
export function ruleField(path: readonly (string | number)[]): string {
  return fieldPath(
    path.map((step) => (typeof step === "string" ? step.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : step)),
  );
}
