// From resources to what is served: validation, one owner for each domain, translation to messages.
// Pure: the same resources in any order give the same assembly. What it remembers of resources
// saves time and changes nothing.
import { fieldPath } from "@weir/limits/model/field-path";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { messageOfModel } from "@weir/limits/model/message";
import { type ConfigProblem, findProblems } from "@weir/limits/validate/validate";

import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { Place, SourceResource, SourceState } from "../source/source.ts";
import { formatPlace, resourceKey } from "../source/source.ts";
import type { AcceptedResource, Assembly, Refusal } from "./assembly.ts";
import { canonicalModel } from "./canonical.ts";
import { type Conflict, createOwnership } from "./ownership.ts";

/**
 * Most fleets that all resources together may name: each has a snapshot and a version of its own,
 * as large as everything that is for all fleets.
 */
const FLEETS_MAX = 256;

/**
 * What was made of each resource that the source still holds. A source gives the same object for as
 * long as the resource is the same, and of thousands usually one is another: to check and to
 * translate all of them for each edit would take most of its time.
 */
const problemsOf = new WeakMap<SourceResource, readonly ConfigProblem[]>();
const translations = new WeakMap<SourceResource, AcceptedResource>();

/** Assembles what a source knows. */
export function assemble(state: SourceState): Assembly {
  const refusals: Refusal[] = state.refusals.map((refusal) => ({ ...refusal, reason: "InvalidSpec" }));
  const unique = refuseDuplicates(state.resources, refusals);
  const valid = unique.filter((resource) => isValid(resource, refusals));
  const accepted = settleOwnership(valid.toSorted(compareAge), refusals);
  return {
    accepted: accepted.toSorted((left, right) => compareCodeUnits(left.key, right.key)),
    refusals: refusals.toSorted(comparePlaces),
    fleets: [...new Set(accepted.flatMap((resource) => resource.fleets ?? []))].toSorted(compareCodeUnits),
  };
}

/** Of resources with the same name the first by place stays. */
function refuseDuplicates(resources: readonly SourceResource[], refusals: Refusal[]): readonly SourceResource[] {
  const first = new Map<string, SourceResource>();
  for (const resource of resources.toSorted(comparePlaces)) {
    const key = resourceKey(resource);
    const known = first.get(key);
    if (known === undefined) first.set(key, resource);
    else
      refuse(
        resource,
        ["metadata", "name"],
        { reason: "DuplicateResource", message: duplicateMessage(key, known, resource) },
        refusals,
      );
  }
  return [...first.values()];
}

function duplicateMessage(key: string, known: SourceResource, resource: SourceResource): string {
  return `${key} is defined twice: ${formatPlace(known.place)} stands, ${formatPlace(resource.place)} is refused; rename one of them`;
}

function remembered<T>(
  memory: WeakMap<SourceResource, T>,
  resource: SourceResource,
  make: (resource: SourceResource) => T,
): T {
  const known = memory.get(resource);
  if (known !== undefined) return known;
  const made = make(resource);
  memory.set(resource, made);
  return made;
}

function isValid(resource: SourceResource, refusals: Refusal[]): boolean {
  const problems = remembered(problemsOf, resource, (each) => findProblems(modelOfResource(each.resource)));
  for (const { path, message } of problems)
    refuse(resource, ["spec", ...path], { reason: "InvalidSpec", message }, refusals);
  return problems.length === 0;
}

/**
 * Walks from the oldest to the youngest; a resource gets its domain in all of its fleets or is
 * refused. What is refused has no claim on anything.
 */
function settleOwnership(resources: readonly SourceResource[], refusals: Refusal[]): readonly AcceptedResource[] {
  const ownership = createOwnership();
  const fleets = new Set<string>();
  return resources.flatMap((resource) => {
    const candidate = remembered(translations, resource, translate);
    const more = (candidate.fleets ?? []).filter((fleet) => !fleets.has(fleet));
    if (fleets.size + more.length > FLEETS_MAX) {
      const message = `brings the fleets that have a name from ${fleets.size} to ${fleets.size + more.length}, of at most ${FLEETS_MAX} for all resources together`;
      refuse(resource, ["spec", "fleets"], { reason: "TooManyFleets", message }, refusals);
      return [];
    }
    const conflict = ownership.claim(candidate);
    if (conflict !== undefined) {
      refuse(
        resource,
        ["spec", "domain"],
        { reason: "DomainConflict", message: conflictMessage(candidate, conflict) },
        refusals,
      );
      return [];
    }
    for (const fleet of more) fleets.add(fleet);
    return [candidate];
  });
}

function conflictMessage({ domain }: AcceptedResource, { owner, fleet }: Conflict): string {
  const where = fleet === undefined ? "" : ` in fleet ${JSON.stringify(fleet)}`;
  return `domain ${JSON.stringify(domain)} belongs to ${owner.key} (${formatPlace(owner.place)})${where}: the oldest resource owns a domain, then the first by namespace and name`;
}

function translate(resource: SourceResource): AcceptedResource {
  const { namespace, name, place, isLastGood } = resource;
  const key = resourceKey(resource);
  const { domain, fleets } = resource.resource.spec;
  return {
    namespace,
    name,
    key,
    domain,
    fleets: fleets === undefined ? undefined : fleets.toSorted(compareCodeUnits),
    place,
    isLastGood,
    message: messageOfModel({ ...canonicalModel(modelOfResource(resource.resource)), name: key }),
  };
}

function refuse(
  resource: SourceResource,
  path: readonly (string | number)[],
  what: Pick<Refusal, "reason" | "message">,
  refusals: Refusal[],
): void {
  refusals.push({
    ...what,
    resource: resourceKey(resource),
    place: resource.locate(path),
    field: fieldPath(path),
    keepsLastGood: false,
  });
}

function comparePlaces(left: { readonly place: Place }, right: { readonly place: Place }): number {
  return (
    compareCodeUnits(left.place.file, right.place.file) ||
    left.place.line - right.place.line ||
    left.place.column - right.place.column
  );
}

function compareAge(left: SourceResource, right: SourceResource): number {
  return (
    left.createdMs - right.createdMs ||
    compareCodeUnits(left.namespace, right.namespace) ||
    compareCodeUnits(left.name, right.name)
  );
}
