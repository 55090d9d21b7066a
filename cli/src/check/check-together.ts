// Finds problems between files: resources and domains that are defined twice, and rules that collide.
// Pure.
import { compareAge, Ownership } from "@weir/limits/ownership/ownership";
import { findSetProblems } from "@weir/limits/validate/validate";

import { ruleField } from "./check-text.ts";
import type { CheckedResource, CheckedRules, CheckProblem } from "./check-text.ts";

/**
 * Finds resources that conflict, as the control plane does with a directory: of the same name only
 * the first is used, and it owns its domain if no older one does.
 */
export function checkResources(resources: readonly CheckedResource[]): readonly CheckProblem[] {
  const byName = new Map<string, CheckedResource>();
  const duplicates = resources.flatMap((resource) => {
    const twin = byName.get(nameOf(resource));
    if (twin === undefined) {
      byName.set(nameOf(resource), resource);
      return [];
    }
    const message = `duplicate resource ${JSON.stringify(nameOf(resource))}, first at ${placeText(twin.nameAt)}`;
    return [{ ...resource.nameAt, field: "metadata.name", message, also: twin.nameAt }];
  });
  return [...duplicates, ...checkOwnership([...byName.values()])];
}

function checkOwnership(resources: readonly CheckedResource[]): readonly CheckProblem[] {
  const ownership = new Ownership<CheckedResource>();
  return resources.toSorted(compareAge).flatMap((resource) => {
    const owner = ownership.claim(resource)?.owner;
    if (owner === undefined) return [];
    const place = `${nameOf(owner)} (${placeText(owner.domainAt)})`;
    const message = `domain '${resource.domain}' belongs to ${place}: the oldest resource owns a domain, then the first by namespace and name`;
    return [{ ...resource.domainAt, field: "spec.domain", message, also: owner.domainAt }];
  });
}

/** Everything that the validator finds in rule files that are loaded together. */
export function checkRuleFiles(
  files: readonly CheckedRules[],
  options: { readonly mergeDomains: boolean },
): readonly CheckProblem[] {
  const models = files.map(({ model }) => model);
  return findSetProblems(models, options).flatMap(({ config, path, message }) => {
    const file = files[config];
    if (file === undefined) return [];
    const problem = { ...file.placeOf(path), field: ruleField(path), message };
    const first = message.startsWith("duplicate domain ")
      ? files.find(({ model }) => model.domain === file.model.domain)
      : undefined;
    if (first === undefined) return [problem];
    const also = first.placeOf(["domain"]);
    return [{ ...problem, message: `${message}, first at ${placeText(also)}`, also }];
  });
}

function nameOf({ namespace, name }: CheckedResource): string {
  return `${namespace}/${name}`;
}

function placeText(place: { readonly path: string; readonly line: number; readonly column: number }): string {
  return `${place.path}:${place.line}:${place.column}`;
}
