// One text in the other form, with everything that a reader should know. Every result is read again
// and compared: what it means has not changed. Pure.
import { isDeepStrictEqual } from "node:util";

import {
  lostComments,
  manifestOfModel,
  manifestOfRules,
  rulesOfManifests,
  rulesOfModel,
  withLowerUnits,
} from "@weir/crds/rate-limit-config/convert";
import type { ConvertedText, ManifestName } from "@weir/crds/rate-limit-config/convert";
import { manifestsOf, readManifests } from "@weir/crds/rate-limit-config/manifest";
import type { ManifestDocument } from "@weir/crds/rate-limit-config/manifest";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate";
import { readYamlDocuments } from "@weir/crds/rate-limit-config/yaml-documents";
import type { YamlDocument } from "@weir/crds/rate-limit-config/yaml-documents";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { findProblems } from "@weir/limits/validate/validate";
import { parseRuleFile } from "@weir/ratelimit/config/files/rule-file";

import { checkText, isManifestText, ruleField } from "../check/check-text.ts";
import type { CheckedRules, CheckProblem } from "../check/check-text.ts";
import type { Form } from "./arguments.ts";

/** Longest metadata.name that is made of a domain, in characters. */
const NAME_LENGTH_MAX = 63;

/** One result. */
export interface Converted {
  readonly form: Form;
  /** What its file is called, without the ending. */
  readonly name: string;
  readonly text: string;
}

/** What became of one text. */
export interface Conversion {
  readonly results: readonly Converted[];
  readonly warnings: readonly CheckProblem[];
  readonly problems: readonly CheckProblem[];
}

/** What a conversion is told. */
export interface ConversionOptions {
  readonly to: Form | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
}

/** Converts a text; with problems there are no results. */
export function convertText(path: string, text: string, options: ConversionOptions): Conversion {
  const checked = checkText(path, text, { skipOtherKinds: false });
  const documents = readYamlDocuments(text);
  const isManifest = isManifestText(documents, text);
  if (checked.problems.length > 0) return { results: [], warnings: [], problems: checked.problems };
  if (options.to === (isManifest ? "manifest" : "rules")) {
    const message = isManifest ? "holds manifests already" : "holds rules already";
    return { results: [], warnings: [], problems: [{ path, line: 1, column: 1, field: "", message }] };
  }
  if (isManifest) return convertManifests(path, text, documents);
  if (checked.rules === undefined) return { results: [], warnings: [], problems: [] };
  const conversion = convertRules(path, text, checked.rules, options);
  return { ...conversion, warnings: [...checked.warnings, ...conversion.warnings] };
}

function convertRules(path: string, text: string, rules: CheckedRules, options: ConversionOptions): Conversion {
  const { model, placeOf } = rules;
  const broken = findProblems(model).map((problem) => ({
    ...placeOf(problem.path),
    field: ruleField(problem.path),
    message: problem.message,
  }));
  if (broken.length > 0) return { results: [], warnings: [], problems: broken };
  const name: ManifestName = {
    name:
      options.name ?? (nameFrom(model.domain) || nameFrom(path.replace(/^.*\//, "").replace(/\.\w+$/, "")) || "limits"),
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  };
  const plain = manifestOfModel(model, name);
  const refused = manifestProblems(plain).map(({ field, message }) => {
    const inner = pathInSpec(field);
    return {
      ...placeOf(inner),
      field: field.startsWith("spec.") ? ruleField(inner) : field,
      message: `a manifest cannot say this: ${message}`,
    };
  });
  if (refused.length > 0) return { results: [], warnings: [], problems: refused };
  const chosen = choose(
    plain,
    () => manifestOfRules(text, model, name),
    (candidate) => isSame(modelOfManifest(candidate), withLowerUnits(model)),
  );
  if (chosen === undefined) return inconvertible(path);
  const warnings = [...notesOf(path, chosen), ...lostOf(path, text, chosen.text)];
  return { results: [{ form: "manifest", name: name.name, text: chosen.text }], warnings, problems: [] };
}

function convertManifests(path: string, text: string, documents: readonly YamlDocument[]): Conversion {
  const manifests = manifestsOf(documents);
  // Parsed once: a text may hold hundreds of manifests.
  const withLayout = attempt(() => rulesOfManifests(text));
  const conversions = manifests.map((manifest): Conversion => {
    if (manifest.resource === undefined) return { results: [], warnings: [], problems: [] };
    const model = modelOfResource(manifest.resource);
    const [, name = ""] = model.name.split("/");
    const chosen = choose(
      rulesOfModel(model),
      () => withLayout?.(model, manifest.place),
      (candidate) => isSame(modelOfRules(candidate), model),
    );
    if (chosen === undefined) return inconvertible(path);
    // What one result lacks another may have: comments are counted for all of them together.
    const warnings = [...leftOut(path, manifest), ...notesOf(path, chosen)];
    return { results: [{ form: "rules", name, text: chosen.text }], warnings, problems: [] };
  });
  const results = conversions.flatMap((conversion) => conversion.results);
  const lost = lostOf(path, text, results.map((result) => result.text).join("---\n"));
  return {
    results,
    warnings: [...conversions.flatMap(({ warnings }) => warnings), ...lost],
    problems: conversions.flatMap(({ problems }) => problems),
  };
}

function inconvertible(path: string): Conversion {
  const message = "cannot be converted: the other form would not mean the same";
  return { results: [], warnings: [], problems: [{ path, line: 0, column: 0, field: "", message }] };
}

/** What a manifest says that a rule file cannot. */
function leftOut(path: string, manifest: ManifestDocument): readonly CheckProblem[] {
  const { resource } = manifest;
  if (resource === undefined) return [];
  const left = [
    ...(["labels", "annotations"] as const)
      .filter((field) => resource.metadata[field] !== undefined)
      .map((field) => ["metadata", field]),
    ...(resource.spec.fleets === undefined ? [] : [["spec", "fleets"]]),
  ];
  return left.map((field) => ({
    path,
    ...manifest.locate(field),
    field: field.join("."),
    message:
      field[1] === "fleets"
        ? "left out: a rule file is for every pod that reads it"
        : "left out: a rule file has nothing like it",
  }));
}

/**
 * The text that keeps the layout if it means the same, else the one written anew; undefined when
 * not even that one does.
 */
function choose(
  plain: string,
  withLayout: () => ConvertedText | undefined,
  isRight: (text: string) => boolean,
): ConvertedText | undefined {
  const kept = attempt(withLayout);
  if (kept !== undefined && isRight(kept.text)) return kept;
  return isRight(plain) ? { text: plain, notes: kept?.notes ?? [] } : undefined;
}

function attempt<Result>(withLayout: () => Result | undefined): Result | undefined {
  try {
    return withLayout();
  } catch {
    return undefined; // An alias whose anchor is not carried over cannot be written; the rules are written anew then.
  }
}

function notesOf(path: string, { notes }: ConvertedText): readonly CheckProblem[] {
  return notes.map((note) => ({ path, field: "", ...note }));
}

function lostOf(path: string, before: string, after: string): readonly CheckProblem[] {
  return lostComments(before, after).map((comment) => ({
    path,
    line: 0,
    column: 0,
    field: "",
    message: `a comment could not be kept: ${comment}`,
  }));
}

function manifestProblems(text: string): ManifestDocument["problems"] {
  return readManifests(text).flatMap(({ problems }) => problems);
}

function modelOfManifest(text: string): RateLimitConfigModel | undefined {
  const [manifest, ...others] = readManifests(text);
  if (manifest?.resource === undefined || manifest.problems.length > 0 || others.length > 0) return undefined;
  return modelOfResource(manifest.resource);
}

function modelOfRules(text: string): RateLimitConfigModel | undefined {
  const file = parseRuleFile("", text);
  return file.ok ? file.model : undefined;
}

/** Equal but for the name, which the two forms do not share. */
function isSame(left: RateLimitConfigModel | undefined, right: RateLimitConfigModel): boolean {
  return left !== undefined && isDeepStrictEqual(plainOf(left), plainOf(right));
}

function plainOf({ domain, descriptors }: RateLimitConfigModel): unknown {
  return JSON.parse(JSON.stringify({ domain, descriptors }));
}

/** The steps behind `spec` of a field's path such as `spec.descriptors[2].rateLimit`. */
function pathInSpec(field: string): readonly (string | number)[] {
  return Array.from(field.matchAll(/\[(\d+)\]|([A-Za-z_]\w*)/g), ([, index, name = ""]) =>
    index === undefined ? name : Number(index),
  ).slice(1);
}

/** A name that Kubernetes takes, made of a text; empty when nothing is left of it. */
function nameFrom(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, NAME_LENGTH_MAX)
    .replaceAll(/^-+|-+$/g, "");
}
