// Checks one text of manifests or rules, and lists the domains that it claims. Pure.
import {
  firstProblems,
  type LocatedProblem,
  type ManifestDocument,
  type ManifestKind,
  manifestsOf,
} from "@weir/crds/rate-limit-config/manifest/manifest";
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { checkServiceManifest } from "@weir/crds/rate-limit-service/check-manifest";
import { fleetOf } from "@weir/crds/rate-limit-service/fleet";
import type { FleetMember } from "@weir/crds/rate-limit-service/fleet-owner";
import { type RateLimitServiceResource, SERVICE_KIND } from "@weir/crds/rate-limit-service/schema/schema";
import { readYamlDocuments, type YamlDocument } from "@weir/limits/go-yaml/json-documents";
import { excerpt, type SourceLocation } from "@weir/limits/go-yaml/node";
import type { FieldPath } from "@weir/limits/model/field-path";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";

/**
 * The beginning of a text that is meant to be a manifest: in YAML the first column says so, in JSON
 * the first names of the object.
 */
const MANIFEST_BEGINNING = /^(\{\s*)?["']?(apiVersion|kind)["']?\s*:/m;

/** The content of a text without anything in it. */
const NOTHING = { problems: [], warnings: [], resources: [], services: [], skipped: 0 } as const;

/** The kind that is read next to RateLimitConfigs. */
const SERVICES: ManifestKind<RateLimitServiceResource> = { kind: SERVICE_KIND, check: checkServiceManifest };

/** Namespace of a manifest that names none. */
const DEFAULT_NAMESPACE = "default";

/** A place in a file; line and column are 0 when the file as a whole is meant. */
export interface FileLocation extends SourceLocation {
  readonly path: string;
}

/** One thing that is wrong. */
export interface CheckProblem extends FileLocation {
  /** Empty when no field is to blame. */
  readonly field: string;
  readonly message: string;
  /** The other place of a conflict. */
  readonly also?: FileLocation;
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
  /** The location at which it puts all its rules into shadow mode; undefined: it does not. */
  readonly shadowAt: FileLocation | undefined;
  readonly nameAt: FileLocation;
  readonly domainAt: FileLocation;
  readonly fleetsAt: FileLocation;
  readonly rules: CheckedRules;
  /** Set for an invalid resource of a cluster, which keeps its domain: pods enforce its last good revision. */
  readonly isInvalid?: true;
}

/** A RateLimitService that the schema accepts. */
export interface CheckedService extends FleetMember {
  readonly nameAt: FileLocation;
  readonly fleetAt: FileLocation;
}

/** Rules that could be read. Those of rule files are not validated: that needs all files together. */
export interface CheckedRules {
  readonly model: RateLimitConfigModel;
  /** The place of a model's field in the text. */
  readonly placeOf: (path: FieldPath) => FileLocation;
}

/** The content of one text. */
export interface CheckedText {
  readonly problems: readonly CheckProblem[];
  /** Input that is valid and perhaps not meant. */
  readonly warnings: readonly CheckProblem[];
  /** Documents of other kinds that were not checked. */
  readonly skipped: number;
  readonly resources: readonly CheckedResource[];
  readonly services: readonly CheckedService[];
  readonly rules?: CheckedRules;
}

/** How texts are checked. */
export interface CheckOptions {
  /** True if a manifest of another kind is skipped also when it is alone in its text, and may be misspelt. */
  readonly skipOtherKinds: boolean;
  /** Set: every other kind is refused, RateLimitServices too. */
  readonly configsOnly?: true;
}

/** Checks a text by itself. */
export function checkText(path: string, text: string, options: CheckOptions): CheckedText {
  const documents = readYamlDocuments(text);
  if (documents.every((document) => document.value === null)) return emptyText(path);
  return isManifestText(documents, text) ? checkManifests(path, documents, options) : checkRules(path, text, documents);
}

/** Returns true if a text, of which `documents` were read, is meant to hold manifests rather than rules. */
export function isManifestText(documents: readonly YamlDocument[], text: string): boolean {
  const isManifest = documents.some(
    ({ value }) => typeof value === "object" && value !== null && ("apiVersion" in value || "kind" in value),
  );
  return isManifest || (documents.some(({ value }) => value === undefined) && MANIFEST_BEGINNING.test(text));
}

/** Checks the manifests of one text by themselves. */
export function checkManifests(path: string, documents: readonly YamlDocument[], options: CheckOptions): CheckedText {
  const otherKinds = options.skipOtherKinds ? "skip" : "skip-in-streams";
  const manifests = manifestsOf(documents, options.configsOnly ? {} : { otherKinds, kind: SERVICES });
  // An empty list, which kubectl does not apply either.
  if (manifests.length === 0) return emptyText(path);
  return {
    ...NOTHING,
    skipped: manifests.filter(({ isSkipped }) => isSkipped).length,
    problems: manifests.flatMap(({ problems }) => problems.map((problem) => inFile(path, problem))),
    warnings: manifests.flatMap(({ warnings = [] }) => warnings.map((problem) => inFile(path, problem))),
    services: manifests.flatMap((manifest) => checkedService(path, manifest)),
    resources: manifests.flatMap((manifest) => checkedResource(path, manifest)),
  };
}

/** A problem of a file as a whole. */
export function fileProblem(path: string, message: string): CheckProblem {
  return { path, line: 0, column: 0, field: "", message };
}

/** A place for people. */
export function placeText({ path, line, column }: FileLocation): string {
  return line === 0 ? path : `${path}:${line}:${column}`;
}

/** A valid resource; `at` is the place of one of its fields. */
export function resourceAt(resource: RateLimitConfigResource, at: (field: FieldPath) => FileLocation): CheckedResource {
  const model = modelOfResource(resource);
  // The schema allows no slash in either.
  const [namespace = "", name = ""] = model.name.split("/");
  const { creationTimestamp } = resource.metadata;
  const { domain, fleets, shadowMode = false } = resource.spec;
  return {
    namespace,
    name,
    createdMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
    domain,
    fleets,
    shadowAt: shadowMode ? at(["spec", "shadowMode"]) : undefined,
    nameAt: at(["metadata", "name"]),
    domainAt: at(["spec", "domain"]),
    fleetsAt: at(["spec", "fleets"]),
    rules: { model, placeOf: (field) => at(["spec", ...field]) },
  };
}

function emptyText(path: string): CheckedText {
  const message = "has neither a RateLimitConfig manifest nor rules";
  return { ...NOTHING, problems: [{ path, line: 1, column: 1, field: "", message }] };
}

function inFile(path: string, { also, ...problem }: LocatedProblem): CheckProblem {
  return { path, ...problem, ...(also && { also: { path, ...also } }) };
}

function checkedService(
  path: string,
  { other, locate }: ManifestDocument<RateLimitServiceResource>,
): readonly CheckedService[] {
  if (other === undefined) return [];
  const { namespace = DEFAULT_NAMESPACE, name, creationTimestamp } = other.metadata;
  return [
    {
      namespace,
      name,
      createdMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
      fleet: fleetOf(other),
      nameAt: { path, ...locate(["metadata", "name"]) },
      fleetAt: { path, ...locate(["spec", "fleet"]) },
    },
  ];
}

function checkedResource(
  path: string,
  { resource, locate }: ManifestDocument<RateLimitServiceResource>,
): readonly CheckedResource[] {
  return resource === undefined ? [] : [resourceAt(resource, (field) => ({ path, ...locate(field) }))];
}

function checkRules(path: string, text: string, documents: readonly YamlDocument[]): CheckedText {
  const file = parseRuleFile(path, text);
  if (file.ok) {
    const placeOf = (field: FieldPath): FileLocation => ({ path, ...file.locationOf(field) });
    return { ...NOTHING, warnings: ruleWarnings(path, documents), rules: { model: file.model, placeOf } };
  }
  const message = file.message.slice(`${path}: `.length); // The report begins with the path anyway.
  // The words of envoyproxy/ratelimit, which do not say what is wrong, and what they mean.
  const hint = ": a value must be a text, a whole number that fits 64 bits, true or false";
  const explained = message === "error checking config" ? `${message}${hint}` : message;
  return { ...NOTHING, problems: [{ path, line: 1, column: 1, ...file.at, field: "", message: excerpt(explained) }] };
}

/** The faults that a rate limit pod reads without a warning. */
function ruleWarnings(path: string, documents: readonly YamlDocument[]): readonly CheckProblem[] {
  const [first, ...others] = documents.filter(({ value }, index) => index === 0 || value !== null);
  const repeated = (first?.problems ?? []).filter(({ message }) => message.startsWith("duplicate key "));
  const ignored = "left out: of a rule file only the first document is read";
  return [
    ...firstProblems(
      repeated.map((problem) => ({ ...problem, message: `${problem.message}: ${effectOf(problem.message)}` })),
    ),
    ...others.map(({ start }) => ({ ...start, message: ignored })),
  ].map((problem) => ({ path, field: "", ...problem }));
}

/** The effect in yaml.v2 of a key that is written twice. */
function effectOf(duplicate: string): string {
  return /^duplicate key "(rate_limit|metadata)"/.test(duplicate)
    ? "the two are merged, and of equal fields the last one counts"
    : "the last one counts";
}
