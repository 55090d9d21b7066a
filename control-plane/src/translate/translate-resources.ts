// Translates resources to the desired configuration: validation, one owner for each domain, messages.
// Pure: the same resources in any order give the same result; its cache only saves time.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import type { ManifestProblem } from "@weir/crds/schema/problems";
import { modelOfResource, ruleProblems, withShadowMode } from "@weir/crds/rate-limit-config/translate/translate";
import { fieldPath, type FieldPath } from "@weir/limits/model/field-path";
import { messageOfModel } from "@weir/limits/model/message";
import { FleetNames } from "@weir/limits/ownership/fleet-names";
import { compareAge, Ownership } from "@weir/limits/ownership/ownership";

import type { RefusalReason } from "../errors.ts";
import type { SourceLocation, SourceResource, SourceState } from "../source/source.ts";
import { formatLocation, resourceKey } from "../source/source.ts";
import { canonicalModel } from "./canonical.ts";
import type { AcceptedResource, DesiredConfiguration, Refusal, ResourceContent } from "./desired-configuration.ts";

/** The result for one resource by itself: its problems, or what is served if it owns its domain. */
type Translation = { readonly problems: readonly ManifestProblem[] } | { readonly candidate: AcceptedResource };

/**
 * Translations of the resources that the source still has. A source returns the same object as long
 * as the resource is the same, and an edit changes one of thousands: checking and translating all
 * of them would take most of its time.
 */
const translations = new WeakMap<SourceResource, Translation>();

/** Notes that a resource is not served, because of the field at a path. */
type Refuse = (resource: SourceResource, path: FieldPath, reason: RefusalReason, message: string) => void;

/** A state that was translated. */
export interface TranslatedState {
  readonly state: SourceState;
  readonly desired: DesiredConfiguration;
}

/** Translates the state of a source, in steps of one resource or one sort; `before` only saves time. */
export function* translationSteps(
  state: SourceState,
  before?: TranslatedState,
): Generator<undefined, DesiredConfiguration> {
  return (before && translateEdits(state, before)) ?? (yield* translateAll(state));
}

/**
 * The result where nothing but the rules of accepted resources has changed, which has no effect on others: to find
 * the owners of thousands of domains takes longer. Undefined for every other change.
 */
function translateEdits(state: SourceState, before: TranslatedState): DesiredConfiguration | undefined {
  const { resources, refusals } = before.state;
  if (state.resources.length !== resources.length || state.refusals.length !== refusals.length) return undefined;
  if (!state.refusals.every((refusal, index) => refusal === refusals[index])) return undefined;
  const edited = new Map<AcceptedResource, AcceptedResource>();
  for (let index = 0; index < resources.length; index++) {
    const [earlier, resource] = [resources[index], state.resources[index]];
    if (earlier === resource || earlier === undefined || resource === undefined) continue;
    const [was, is] = [translate(earlier), translate(resource)];
    if ("problems" in was || "problems" in is || !claimsSame(was.candidate, is.candidate)) return undefined;
    edited.set(was.candidate, is.candidate);
  }
  let found = 0;
  const accepted = before.desired.accepted.map((resource) => {
    const now = edited.get(resource);
    if (now !== undefined) found += 1;
    return now ?? resource;
  });
  return found === edited.size ? { ...before.desired, accepted } : undefined;
}

/**
 * Returns true if two revisions of a resource have the same effect on which resources are accepted, and the same
 * place.
 */
function claimsSame(left: AcceptedResource, right: AcceptedResource): boolean {
  return (
    left.key === right.key &&
    left.createdMs === right.createdMs &&
    left.domain === right.domain &&
    left.fleets?.join() === right.fleets?.join() &&
    comparePlaces(left, right) === 0
  );
}

function* translateAll(state: SourceState): Generator<undefined, DesiredConfiguration> {
  const refusals: Refusal[] = state.refusals.map((refusal) => ({ reason: "InvalidSpec", ...refusal }));
  const refuse: Refuse = (resource, path, reason, message) => {
    const place = resource.locate(path);
    const field = fieldPath(path);
    refusals.push({ reason, message, resource: resourceKey(resource), place, field, keepsLastGood: false });
  };
  const unique = yield* findUnique(state.resources, refuse);
  const accepted = yield* findOwners(unique.toSorted(compareAge), refuse);
  return {
    accepted: accepted.toSorted((left, right) => compareCodeUnits(left.key, right.key)),
    refusals: refusals.toSorted(comparePlaces),
    fleets: [...new Set(accepted.flatMap((resource) => resource.fleets ?? []))].toSorted(compareCodeUnits),
  };
}

/** Of resources with the same name, the first by place. */
function* findUnique(
  resources: readonly SourceResource[],
  refuse: Refuse,
): Generator<undefined, readonly SourceResource[]> {
  const first = new Map<string, SourceResource>();
  for (const resource of resources.toSorted(comparePlaces)) {
    yield;
    const key = resourceKey(resource);
    const known = first.get(key);
    if (known === undefined) {
      first.set(key, resource);
      continue;
    }
    const places = `${formatLocation(known.place)} is used, ${formatLocation(resource.place)} is not`;
    const message = `${key} is defined twice: ${places}; rename one of them`;
    refuse(resource, ["metadata", "name"], "DuplicateResource", message);
  }
  return [...first.values()];
}

/**
 * The valid resources that get their domain in all of their fleets, from the oldest to the youngest.
 * A refused resource claims nothing.
 */
function* findOwners(
  resources: readonly SourceResource[],
  refuse: Refuse,
): Generator<undefined, readonly AcceptedResource[]> {
  const ownership = new Ownership<AcceptedResource>();
  const fleets = new FleetNames();
  const accepted: AcceptedResource[] = [];
  for (const resource of resources) {
    yield;
    const translation = translate(resource);
    if ("problems" in translation) {
      for (const { path, message } of translation.problems) refuse(resource, path, "InvalidSpec", message);
      continue;
    }
    const { candidate } = translation;
    const tooMany = fleets.problemOf(candidate);
    if (tooMany !== undefined) {
      refuse(resource, ["spec", "fleets"], "TooManyFleets", tooMany);
      continue;
    }
    const conflict = ownership.claim(candidate);
    if (conflict !== undefined) {
      const { owner, fleet } = conflict;
      const where = fleet === undefined ? "" : ` in fleet ${JSON.stringify(fleet)}`;
      const message = `domain ${JSON.stringify(candidate.domain)} belongs to ${owner.key} (${formatLocation(owner.place)})${where}: the oldest resource owns a domain, then the first by namespace and name`;
      refuse(resource, ["spec", "domain"], "DomainConflict", message);
      continue;
    }
    fleets.add(candidate);
    accepted.push(candidate);
  }
  return accepted;
}

function translate(resource: SourceResource): Translation {
  let translation = translations.get(resource);
  if (translation === undefined) translations.set(resource, (translation = translateAnew(resource)));
  return translation;
}

function translateAnew(resource: SourceResource): Translation {
  const problems = ruleProblems(resource.resource);
  if (problems.length > 0) return { problems };
  const { namespace, name, createdMs, place, isLastGood, uid } = resource;
  const key = resourceKey(resource);
  const { domain, fleets, shadowMode } = resource.resource.spec;
  const contentOf = (manifest: RateLimitConfigResource): ResourceContent => ({
    manifest,
    message: messageOfModel({ ...canonicalModel(modelOfResource(manifest)), name: key }),
  });
  const lastGood = (resource.lastGood ?? []).filter(
    (revision) => revision.spec.domain === domain && ruleProblems(revision).length === 0,
  );
  const candidate: AcceptedResource = {
    namespace,
    name,
    key,
    identity: `${uid ?? ""} ${domain}`,
    createdMs,
    domain,
    fleets: fleets?.toSorted(compareCodeUnits),
    place,
    isLastGood,
    content: contentOf(resource.resource),
    lastGood: lastGood.map((revision) => contentOf(withShadowMode(revision, shadowMode))),
  };
  return { candidate };
}

function comparePlaces(left: { readonly place: SourceLocation }, right: { readonly place: SourceLocation }): number {
  return (
    compareCodeUnits(left.place.file, right.place.file) ||
    left.place.line - right.place.line ||
    left.place.column - right.place.column
  );
}
