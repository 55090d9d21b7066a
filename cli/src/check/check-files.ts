// Checks files that belong together: each by itself, then the domains, resources and rules that collide. Pure.
import { firstProblems } from "@weir/crds/rate-limit-config/manifest/manifest";
import { fleetOwners, reservedFleetOf } from "@weir/crds/rate-limit-service/fleet-owner";
import { findRuleWarnings } from "@weir/limits/explain/rule-warnings";
import { fieldPath, type FieldPath, ruleFilePath } from "@weir/limits/model/field-path";
import { FleetNames } from "@weir/limits/ownership/fleet-names";
import { compareAge, Ownership } from "@weir/limits/ownership/ownership";
import { findProblems, findSetProblems } from "@weir/limits/validate/validate";

import { checkText, fileProblem, placeText } from "./check-text.ts";
import type {
  CheckedResource,
  CheckedRules,
  CheckedService,
  CheckedText,
  CheckOptions,
  CheckProblem,
} from "./check-text.ts";
import { countsAnew, type LiveRules } from "./counts-anew.ts";
import type { InputFile } from "./input-files.ts";
import type { CheckReport } from "./report.ts";

/** The resources and rules in files, and the report on them. */
export interface CheckedFiles {
  readonly report: CheckReport;
  readonly resources: readonly CheckedResource[];
  readonly rules: readonly CheckedRules[];
}

/** Checks files, each by itself and all together. */
export function checkFiles(
  files: readonly InputFile[],
  options: CheckOptions & { readonly mergeDomains: boolean; readonly live?: LiveRules },
): CheckedFiles {
  const texts = files.map((file): CheckedText => {
    if ("text" in file) return checkText(file.path, file.text, options);
    return {
      problems: [fileProblem(file.path, `cannot read: ${file.unreadable}`)],
      warnings: [],
      resources: [],
      services: [],
      skipped: 0,
    };
  });
  const resources = texts.flatMap((text) => text.resources);
  const services = texts.flatMap((text) => text.services);
  const rules = texts.flatMap((text) => text.rules ?? []);
  const problems = [
    ...texts.flatMap((text) => text.problems),
    ...checkResources(resources),
    ...checkServices(services),
    ...checkRuleFiles(rules, options),
  ];
  const orderOf = new Map(files.map(({ path }, index) => [path, index]));
  const inOrder = (found: readonly CheckProblem[]): readonly CheckProblem[] =>
    found.toSorted(
      (left, right) =>
        (orderOf.get(left.path) ?? 0) - (orderOf.get(right.path) ?? 0) ||
        left.line - right.line ||
        left.column - right.column,
    );
  const report = {
    files: files.length,
    resources: resources.length + services.length,
    ruleFiles: rules.length,
    skipped: texts.reduce((sum, { skipped }) => sum + skipped, 0),
    problems: inOrder(problems),
    warnings: inOrder([
      ...texts.flatMap((text) => text.warnings),
      ...resources.flatMap(shadowWarnings),
      ...resources.flatMap((resource) =>
        warningsOf(resource.rules, (path) => fieldPath(["spec", ...path]), options.live),
      ),
      ...rules.flatMap((file) => warningsOf(file, ruleFilePath, options.live)),
    ]),
  };
  return { resources, rules, report };
}

/**
 * Resources that collide, as the control plane decides it for a directory: of one name the first
 * resource counts; the number of named fleets is bounded; a domain belongs to the oldest that
 * claims it, then to the first by namespace and name. A resource that is rejected here owns and
 * names nothing.
 */
export function checkResources(resources: readonly CheckedResource[]): readonly CheckProblem[] {
  return resolveResources(resources).problems;
}

/**
 * RateLimitServices that collide, as the operator decides it: of one name the first counts; a fleet belongs
 * to the oldest that may have it, and to others of its namespace.
 */
function checkServices(services: readonly CheckedService[]): readonly CheckProblem[] {
  const { firsts, problems } = distinct(services);
  const owners = fleetOwners(firsts);
  const conflicts = firsts.flatMap((service): readonly CheckProblem[] => {
    const owner = owners.get(service.fleet);
    // A fleet of another namespace is found in the manifest alone.
    if (owner === undefined || owner.namespace === service.namespace) return [];
    if (reservedFleetOf(service) !== undefined) return [];
    const place = `${nameOf(owner)} (${placeText(owner.fleetAt)})`;
    const message = `the fleet ${JSON.stringify(service.fleet)} belongs to ${place}: the oldest RateLimitService owns a fleet, then the first by namespace and name`;
    return [{ ...service.fleetAt, field: "spec.fleet", message, also: owner.fleetAt }];
  });
  return [...problems, ...conflicts];
}

/** The first of each name, and the others as problems. */
function distinct<Named extends Pick<CheckedService, "namespace" | "name" | "nameAt">>(
  resources: readonly Named[],
): { readonly firsts: readonly Named[]; readonly problems: readonly CheckProblem[] } {
  const byName = new Map<string, Named>();
  const problems = resources.flatMap((resource): readonly CheckProblem[] => {
    const first = byName.getOrInsert(nameOf(resource), resource);
    if (first === resource) return [];
    const message = `duplicate resource ${JSON.stringify(nameOf(resource))}, first at ${placeText(first.nameAt)}`;
    return [{ ...resource.nameAt, field: "metadata.name", message, also: first.nameAt }];
  });
  return { firsts: [...byName.values()], problems };
}

/** The resources that own their domains, the oldest first, and why the others do not. */
export function resolveResources(resources: readonly CheckedResource[]): {
  readonly owners: readonly CheckedResource[];
  readonly problems: readonly CheckProblem[];
} {
  const { firsts, problems: twins } = distinct(resources);
  const problems = [...twins];
  const owners: CheckedResource[] = [];
  const fleets = new FleetNames();
  const ownership = new Ownership<CheckedResource>();
  for (const resource of firsts.toSorted(compareAge)) {
    const tooMany = fleets.problemOf(resource);
    if (tooMany !== undefined) {
      problems.push({ ...resource.fleetsAt, field: "spec.fleets", message: tooMany });
      continue;
    }
    const owner = ownership.claim(resource)?.owner;
    if (owner === undefined) {
      fleets.add(resource);
      owners.push(resource);
      continue;
    }
    const place = `${nameOf(owner)} (${placeText(owner.domainAt)})`;
    const message = `domain '${resource.domain}' belongs to ${place}: the oldest resource owns a domain, then the first by namespace and name`;
    problems.push({ ...resource.domainAt, field: "spec.domain", message, also: owner.domainAt });
  }
  return { owners, problems };
}

/** Everything that the validator finds in rule files that are loaded together. */
function checkRuleFiles(
  files: readonly CheckedRules[],
  options: { readonly mergeDomains: boolean },
): readonly CheckProblem[] {
  const models = files.map(({ model }) => model);
  return findSetProblems(models, options).flatMap(({ config, path, message, first }) => {
    const problem = { field: ruleFilePath(path), message };
    const at = files[config]?.placeOf(path);
    const also = first && files[first.config]?.placeOf(first.path);
    if (at === undefined || also === undefined) return at === undefined ? [] : [{ ...at, ...problem }];
    return [{ ...at, ...problem, message: `${message}, first at ${placeText(also)}`, also }];
  });
}

/** Warnings of input that is perhaps not meant; none of rules that are wrong, which are reported. */
function warningsOf(
  rules: CheckedRules,
  textOf: (path: FieldPath) => string,
  live: LiveRules = new Map(),
): readonly CheckProblem[] {
  if (findProblems(rules.model).length > 0) return [];
  const warnings = [...findRuleWarnings(rules.model, textOf), ...countsAnew(rules, live)];
  return firstProblems(warnings.map(({ path, message }) => ({ ...rules.placeOf(path), field: textOf(path), message })));
}

/** A switch for an emergency that is in a file may have been forgotten there. */
function shadowWarnings({ shadowAt }: CheckedResource): readonly CheckProblem[] {
  const message = "every rule of this resource is in shadow mode: nothing is limited";
  return shadowAt === undefined ? [] : [{ ...shadowAt, field: "spec.shadowMode", message }];
}

function nameOf({ namespace, name }: Pick<CheckedResource, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
