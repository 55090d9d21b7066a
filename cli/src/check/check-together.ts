// What is wrong between files: domains and resources that are claimed twice, and rules that collide. Pure.
import { findSetProblems } from "@weir/proto/rate-limit-config/validate";

import { ruleField } from "./check-text.ts";
import type { CheckedResource, CheckedRules, CheckProblem } from "./check-text.ts";

/** Resources that cannot stand beside each other. The first of each kind stands, as in the control plane's directory source. */
export function checkResources(resources: readonly CheckedResource[]): readonly CheckProblem[] {
  const byName = new Map<string, CheckedResource>();
  const owners = new Map<string, CheckedResource[]>();
  return resources.flatMap((resource) => {
    const twin = byName.get(resource.name);
    if (twin !== undefined) {
      const message = `duplicate resource ${JSON.stringify(resource.name)}, first at ${placeText(twin.nameAt)}`;
      return [{ ...resource.nameAt, field: "metadata.name", message, also: twin.nameAt }];
    }
    byName.set(resource.name, resource);
    const claims = owners.get(resource.domain) ?? [];
    owners.set(resource.domain, [...claims, resource]);
    const owner = claims.find((claim) => shareFleet(claim, resource));
    if (owner === undefined) return [];
    const message = `duplicate domain '${resource.domain}', first at ${placeText(owner.domainAt)}`;
    return [{ ...resource.domainAt, field: "spec.domain", message, also: owner.domainAt }];
  });
}

/** Everything that the validator finds in rule files that are loaded together. */
export function checkRuleFiles(files: readonly CheckedRules[], options: { readonly mergeDomains: boolean }): readonly CheckProblem[] {
  const models = files.map(({ model }) => model);
  return findSetProblems(models, options).flatMap(({ config, path, message }) => {
    const file = files[config];
    if (file === undefined) return [];
    const problem = { ...file.placeOf(path), field: ruleField(path), message };
    const first = message.startsWith("duplicate domain ") ? files.find(({ model }) => model.domain === file.model.domain) : undefined;
    if (first === undefined) return [problem];
    const also = first.placeOf(["domain"]);
    return [{ ...problem, message: `${message}, first at ${placeText(also)}`, also }];
  });
}

function placeText(place: { readonly path: string; readonly line: number; readonly column: number }): string {
  return `${place.path}:${place.line}:${place.column}`;
}

function shareFleet(left: CheckedResource, right: CheckedResource): boolean {
  if (left.fleets === undefined || right.fleets === undefined) return true;
  return left.fleets.some((fleet) => right.fleets?.includes(fleet) === true);
}
