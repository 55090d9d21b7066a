// Converts one text to the other form. Every result is read again and compared: its meaning has not changed. Pure.
import { isDeepStrictEqual } from "node:util";

import { manifestsOf, readManifests, type ManifestDocument } from "@weir/crds/rate-limit-config/manifest/manifest";
import {
  lostComments,
  manifestOfModel,
  manifestOfRules,
  rulesOfManifests,
  rulesOfModel,
  withLowerUnits,
} from "@weir/crds/rate-limit-config/translate/convert";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { readYamlDocuments, type YamlDocument } from "@weir/limits/go-yaml/json-documents";
import { type FieldPath, ruleFilePath } from "@weir/limits/model/field-path";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";
import { findProblems } from "@weir/limits/validate/validate";

import { checkText, fileProblem, isManifestText } from "../check/check-text.ts";
import type { CheckedRules, CheckProblem } from "../check/check-text.ts";
import type { Form } from "./arguments.ts";

/** Longest metadata.name that is made of a domain, in characters. */
const NAME_LENGTH_MAX = 63;

/** One result. */
export interface Converted {
  readonly form: Form;
  /** Name of its file, without the ending. */
  readonly name: string;
  readonly text: string;
}

/** The results of one text; none when there are problems. */
export interface Conversion {
  readonly results: readonly Converted[];
  readonly warnings: readonly CheckProblem[];
  readonly problems: readonly CheckProblem[];
}

/** How a text is converted. */
export interface ConversionOptions {
  /** undefined: to the form that the text does not have. */
  readonly to: Form | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
}

/** Converts a text. */
export function convertText(path: string, text: string, options: ConversionOptions): Conversion {
  const checked = checkText(path, text, { skipOtherKinds: false, configsOnly: true });
  if (checked.problems.length > 0) return refused(checked.problems);
  const documents = readYamlDocuments(text);
  const isManifest = isManifestText(documents, text);
  if (options.to === (isManifest ? "manifest" : "rules")) {
    const message = isManifest ? "holds manifests already" : "holds rules already";
    return refused([{ path, line: 1, column: 1, field: "", message }]);
  }
  if (isManifest) return convertManifests(path, text, documents);
  if (checked.rules === undefined) return refused([]);
  const conversion = convertRules(path, text, checked.rules, options);
  return { ...conversion, warnings: [...checked.warnings, ...conversion.warnings] };
}

function refused(problems: readonly CheckProblem[]): Conversion {
  return { results: [], warnings: [], problems };
}

function convertRules(path: string, text: string, rules: CheckedRules, options: ConversionOptions): Conversion {
  const { model, placeOf } = rules;
  const at = (field: FieldPath, message: string): CheckProblem => ({
    ...placeOf(field),
    field: ruleFilePath(field),
    message,
  });
  const invalid = findProblems(model);
  if (invalid.length > 0) return refused(invalid.map((problem) => at(problem.path, problem.message)));
  const fileName = path.replace(/^.*\//, "").replace(/\.\w+$/, "");
  const name = options.name ?? (nameFrom(model.domain) || nameFrom(fileName) || "limits");
  const identity = { name, ...(options.namespace !== undefined && { namespace: options.namespace }) };
  const plain = manifestOfModel(model, identity);
  const inexpressible = readManifests(plain).flatMap(({ problems }) => problems);
  if (inexpressible.length > 0) {
    return refused(
      inexpressible.map(({ field, message }) => {
        const problem = at(pathInSpec(field), `a manifest cannot express this: ${message}`);
        return field.startsWith("spec.") ? problem : { ...problem, field };
      }),
    );
  }
  const isSame = (candidate: string): boolean => isSameRules(modelOfManifest(candidate), withLowerUnits(model));
  const kept = attempt(() => manifestOfRules(text, model, identity));
  const chosen = [kept?.text, plain].find((candidate) => candidate !== undefined && isSame(candidate));
  if (chosen === undefined) return refused([inconvertible(path)]);
  const notes = (kept?.notes ?? []).map((note) => ({ path, field: "", ...note }));
  return {
    results: [{ form: "manifest", name, text: chosen }],
    warnings: [...notes, ...commentWarnings(path, text, chosen)],
    problems: [],
  };
}

function convertManifests(path: string, text: string, documents: readonly YamlDocument[]): Conversion {
  const results: Converted[] = [];
  const warnings: CheckProblem[] = [];
  const problems: CheckProblem[] = [];
  // Parsed once: a text may hold hundreds of manifests.
  const withLayout = attempt(() => rulesOfManifests(text));
  for (const manifest of manifestsOf(documents)) {
    if (manifest.resource === undefined) continue;
    const model = modelOfResource(manifest.resource);
    const kept = attempt(() => withLayout?.(model, manifest.place));
    const chosen = [kept, rulesOfModel(model)].find(
      (candidate) => candidate !== undefined && isSameRules(modelOfRules(candidate), model),
    );
    if (chosen === undefined) problems.push(inconvertible(path));
    else {
      results.push({ form: "rules", name: manifest.resource.metadata.name, text: chosen });
      warnings.push(...omissions(path, manifest));
    }
  }
  // Comments are counted for all results together: one result may have the comment that another lacks.
  const after = results.map((result) => result.text).join("---\n");
  return { results, warnings: [...warnings, ...commentWarnings(path, text, after)], problems };
}

function inconvertible(path: string): CheckProblem {
  return fileProblem(path, "cannot be converted: the other form would not mean the same");
}

/** Warnings of fields of a manifest that a rule file cannot have. */
function omissions(path: string, { resource, locate }: ManifestDocument): readonly CheckProblem[] {
  const fields: readonly (readonly [isWritten: boolean, field: readonly string[], reason: string])[] = [
    [resource?.metadata.labels !== undefined, ["metadata", "labels"], "a rule file has nothing like it"],
    [resource?.metadata.annotations !== undefined, ["metadata", "annotations"], "a rule file has nothing like it"],
    [resource?.spec.fleets !== undefined, ["spec", "fleets"], "a rule file is for every pod that reads it"],
    [
      resource?.spec.shadowMode === true,
      ["spec", "shadowMode"],
      "in a rule file each rule with a limit has shadow_mode in place of it",
    ],
  ];
  return fields
    .filter(([isWritten]) => isWritten)
    .map(([, field, reason]) => ({ path, ...locate(field), field: field.join("."), message: `left out: ${reason}` }));
}

function attempt<Result>(withLayout: () => Result): Result | undefined {
  try {
    return withLayout();
  } catch {
    return undefined; // An alias whose anchor is not carried over cannot be written; the rules are written anew then.
  }
}

function commentWarnings(path: string, before: string, after: string): readonly CheckProblem[] {
  return lostComments(before, after).map((comment) => fileProblem(path, `a comment could not be kept: ${comment}`));
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
function isSameRules(left: RateLimitConfigModel | undefined, right: RateLimitConfigModel): boolean {
  const plain = ({ domain, descriptors }: RateLimitConfigModel): unknown =>
    JSON.parse(JSON.stringify({ domain, descriptors }));
  return left !== undefined && isDeepStrictEqual(plain(left), plain(right));
}

/** The steps behind `spec` of a field's path such as `spec.descriptors[2].rateLimit`. */
function pathInSpec(field: string): FieldPath {
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
