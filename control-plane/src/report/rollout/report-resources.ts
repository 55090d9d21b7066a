// Reports resources: the status of each, its problems, and the sync status of its pods. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { AcceptedResource, Refusal } from "../../assemble/desired-configuration.ts";
import { formIn } from "../../pods/pod-forms.ts";
import type { PodState } from "../../pods/pod-registry.ts";
import { type Deviation, deviationOf } from "../../pods/sync-status.ts";
import type { Form } from "../../snapshot/form.ts";
import { fleetName } from "../../snapshot/publication-log.ts";
import { publicationFor } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { type SourceLocation, resourceKey, type SourceResource } from "../../source/source.ts";
import { findWarnings } from "./find-warnings.ts";
import type { PodCounts, ProblemReport, ResourceReport, ResourceStatus, RolloutFilter } from "./rollout-report.ts";

/** Most deviations of one resource that are reported. */
const DEVIATIONS_MAX = 20;

/** The pods of one fleet, as in a publication. */
export interface FleetMembers {
  readonly fleet: string;
  readonly pods: readonly PodState[];
}

/** The facts about one resource. */
interface ResourceFacts {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** As the source has it; undefined when it did not become a resource. */
  written: SourceResource | undefined;
  accepted: AcceptedResource | undefined;
  readonly refusals: Refusal[];
}

/** How the pods of a resource serve it. */
interface ResourcePods extends PodCounts {
  /** By fleet and served form. */
  readonly deviations: readonly (Deviation & { readonly fleet: string })[];
}

/** Every resource that passes the filter, sorted by namespace and name. */
export function reportResources(
  publisher: PublisherState,
  refusals: readonly Refusal[],
  fleets: readonly FleetMembers[],
  filter: RolloutFilter,
): readonly ResourceReport[] {
  const groups = fleets.map(({ fleet, pods }) => ({
    fleet,
    snapshot: publicationFor(publisher.publication, fleet)?.snapshot,
    groups: groupPods(pods),
  }));
  return [...collectFacts(publisher, refusals).values()]
    .filter((facts) => isWanted(facts, filter))
    .toSorted(
      (left, right) => compareCodeUnits(left.namespace, right.namespace) || compareCodeUnits(left.name, right.name),
    )
    .map((facts) => reportResource(facts, countPods(facts.key, publisher.presentForm(facts.key), groups)));
}

/** The resources that do not fit, as refusals. */
export function tooLargeRefusals({ admission }: PublisherState): readonly Refusal[] {
  return (admission?.waiting ?? []).map(({ resource: { key, place }, message, keepsEarlier }) => ({
    reason: "TooLarge",
    resource: key,
    place,
    field: "spec",
    message,
    keepsLastGood: keepsEarlier,
  }));
}

function collectFacts(publisher: PublisherState, refused: readonly Refusal[]): ReadonlyMap<string, ResourceFacts> {
  const known = new Map<string, ResourceFacts>();
  const factsOf = (key: string): ResourceFacts =>
    known.getOrInsertComputed(key, () => {
      const slash = key.indexOf("/");
      const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
      return { key, namespace, name, written: undefined, accepted: undefined, refusals: [] };
    });
  for (const resource of publisher.read?.resources ?? []) factsOf(resourceKey(resource)).written ??= resource;
  for (const accepted of publisher.desired?.accepted ?? []) factsOf(accepted.key).accepted = accepted;
  for (const refusal of refused) if (refusal.resource !== undefined) factsOf(refusal.resource).refusals.push(refusal);
  const unnamed = refused.filter(({ resource, keepsLastGood }) => resource === undefined && keepsLastGood);
  const byFile = Map.groupBy(unnamed, ({ place }) => place.file);
  for (const { accepted, refusals } of known.values()) {
    // A file that does not parse names no resource, and its last good ones stay.
    if (accepted?.isLastGood === true && refusals.length === 0)
      refusals.push(...(byFile.get(accepted.place.file) ?? []));
  }
  return known;
}

function isWanted(facts: ResourceFacts, { fleet, namespace, name }: RolloutFilter): boolean {
  if (namespace !== undefined && facts.namespace !== namespace) return false;
  if (name !== undefined && facts.name !== name) return false;
  const fleets = fleetsOf(facts);
  return fleet === undefined || fleets === undefined || fleets.includes(fleet);
}

function fleetsOf({ accepted, written }: ResourceFacts): readonly string[] | undefined {
  return accepted === undefined ? written?.resource.spec.fleets : accepted.fleets;
}

function reportResource(facts: ResourceFacts, { pods, podStates, deviations }: ResourcePods): ResourceReport {
  const { key, namespace, name, written, accepted, refusals } = facts;
  const place = accepted?.place ?? written?.place ?? refusals[0]?.place;
  return {
    resource: key,
    namespace,
    name,
    domain: accepted?.domain ?? written?.resource.spec.domain ?? "",
    generation: written?.generation ?? null,
    fleets: fleetsOf(facts) ?? null,
    state: stateOf(facts, deviations.length > 0),
    reason: refusals[0]?.reason ?? (deviations.length > 0 ? "RejectedByDataPlane" : null),
    problems: [
      ...refusals.map(({ field, message, place: at }) => problemAt(at, field, message)),
      ...deviations.map(({ fleet, form, message }) => {
        const meanwhile = form === undefined ? "it is left out there" : "an earlier form is active there";
        return problemAt(place, "", `pods of fleet ${fleetName(fleet)} NACKed it, ${meanwhile}: ${message}`);
      }),
    ],
    servesLastGood:
      accepted?.isLastGood === true ||
      refusals.some(({ reason, keepsLastGood }) => reason === "TooLarge" && keepsLastGood) ||
      deviations.some(({ form }) => form !== undefined),
    file: place?.file ?? "",
    line: place?.line ?? 0,
    pods,
    podStates,
    warnings: accepted === undefined ? [] : findWarnings(accepted.content.message),
  };
}

function stateOf({ accepted, refusals }: ResourceFacts, isQuarantined: boolean): ResourceStatus {
  if (isQuarantined) return "quarantined";
  if (accepted === undefined) return "refused";
  const tooLarge = refusals.find(({ reason }) => reason === "TooLarge");
  if (tooLarge !== undefined) return tooLarge.keepsLastGood ? "last-good" : "refused";
  return accepted.isLastGood ? "last-good" : "served";
}

function problemAt(place: SourceLocation | undefined, field: string, message: string): ProblemReport {
  return { field, message, ...(place ?? { file: "", line: 0, column: 0 }) };
}

/** Groups pods that are alike in every resource: counting thousands one by one takes too long. */
function groupPods(pods: readonly PodState[]): readonly (readonly [PodState, ...PodState[]])[] {
  const ids = new Map<unknown, number>();
  const idOf = (object: unknown): number => ids.getOrInsertComputed(object, () => ids.size);
  const groups = Map.groupBy(pods, ({ acked, choice, lastAnswer, rejected }) =>
    [
      idOf(acked?.names === undefined ? acked?.snapshot : acked),
      idOf(choice),
      lastAnswer,
      rejected === undefined,
    ].join(),
  );
  return [...groups.values()] as unknown as readonly (readonly [PodState, ...PodState[]])[];
}

/** Counts the pods whose fleet's snapshot has the resource. A pod is current with the present form. */
function countPods(
  key: string,
  present: Form | undefined,
  fleets: readonly {
    readonly fleet: string;
    readonly snapshot: Snapshot | undefined;
    readonly groups: ReturnType<typeof groupPods>;
  }[],
): ResourcePods {
  const podStates = { current: 0, rejected: 0, pending: 0, waiting: 0 };
  const deviations = new Map<string, Deviation & { readonly fleet: string }>();
  let pods = 0;
  for (const { fleet, snapshot, groups } of fleets) {
    const published = snapshot?.get(key);
    if (published === undefined) continue;
    for (const group of groups) {
      const [pod] = group;
      const deviation = deviationOf(pod, published);
      const isCurrent = present !== undefined && formIn(pod.acked, key)?.digest === present.digest;
      pods += group.length;
      podStates[deviation === undefined ? (isCurrent ? "current" : "pending") : "rejected"] += group.length;
      if (deviation !== undefined && deviations.size < DEVIATIONS_MAX)
        deviations.getOrInsert(`${fleet} ${deviation.form?.digest}`, { fleet, ...deviation });
    }
  }
  return { pods, podStates, deviations: [...deviations.values()] };
}
