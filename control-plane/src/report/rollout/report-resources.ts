// Reports resources: the status of each, its problems, and the sync status of its pods. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { AcceptedResource, Refusal } from "../../translate/desired-configuration.ts";
import { revisionIn } from "../../pods/pod-revisions.ts";
import { type Deviation, deviationOf } from "../../pods/sync-status.ts";
import type { Revision } from "../../snapshot/revision.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { type SourceLocation, resourceKey, type SourceResource } from "../../source/source.ts";
import { findWarnings } from "./find-warnings.ts";
import type { GroupedFleet } from "./pod-groups.ts";
import { settledIn, type SettledFleets } from "./settled-fleets.ts";
import type {
  GroupRejection,
  PodCounts,
  ProblemReport,
  ResourceFleetReport,
  ResourceReport,
  ResourceStatus,
  RolloutFilter,
} from "./rollout-report.ts";

/** Reason of a resource that a pod NACKed. */
const REJECTED = "RejectedByDataPlane";

/** Most deviations of one resource that are reported. */
const DEVIATIONS_MAX = 20;

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
  readonly fleetStates: readonly ResourceFleetReport[];
  readonly settledDigest: string | null;
  /** By fleet and served revision. */
  readonly deviations: readonly (Deviation & { readonly fleet: string })[];
}

/** Every resource that passes the filter, sorted by namespace and name. */
export function reportResources(
  publisher: PublisherState,
  refusals: readonly Refusal[],
  fleets: readonly GroupedFleet[],
  filter: RolloutFilter,
): readonly ResourceReport[] {
  const settled =
    filter.settledDigests === true ? settledIn(fleets, (name) => publisher.currentRevision(name)) : undefined;
  return [...collectFacts(publisher, refusals).values()]
    .filter((facts) => isWanted(facts, filter))
    .toSorted(
      (left, right) => compareCodeUnits(left.namespace, right.namespace) || compareCodeUnits(left.name, right.name),
    )
    .map((facts) => {
      const present = publisher.currentRevision(facts.key);
      const others = present && settled?.(present, fleetsOf(facts));
      const counted = countPods(facts.key, present, others?.unsettled ?? fleets);
      return reportResource(facts, others === undefined ? counted : withSettled(counted, others));
    });
}

/** The counts with those of the fleets in which every pod is current. */
function withSettled(counted: ResourcePods, { digest, pods }: SettledFleets): ResourcePods {
  const { podStates } = counted;
  return {
    ...counted,
    pods: counted.pods + pods,
    podStates: { ...podStates, current: podStates.current + pods },
    settledDigest: digest,
  };
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

/**
 * Refusals with the names of the resources that they are about: a file that does not parse names none, and its last
 * good ones stay. So its problem is reported once, as theirs.
 */
export function namedRefusals({ desired }: PublisherState, refusals: readonly Refusal[]): readonly Refusal[] {
  const named = new Set(refusals.map(({ resource }) => resource));
  const kept = (desired?.accepted ?? []).filter(({ key, isLastGood }) => isLastGood && !named.has(key));
  const byFile = Map.groupBy(kept, ({ place }) => place.file);
  return refusals.flatMap((refusal) => {
    const isUnnamed = refusal.resource === undefined && refusal.keepsLastGood;
    const owners = isUnnamed ? byFile.get(refusal.place.file) : undefined;
    return owners === undefined ? [refusal] : owners.map(({ key }) => ({ ...refusal, resource: key }));
  });
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

function reportResource(
  facts: ResourceFacts,
  { pods, podStates, deviations, fleetStates, settledDigest }: ResourcePods,
): ResourceReport {
  const { key, namespace, name, written, accepted, refusals } = facts;
  const place = accepted?.place ?? written?.place ?? refusals[0]?.place;
  return {
    resource: key,
    namespace,
    name,
    domain: accepted?.domain ?? written?.resource.spec.domain ?? "",
    generation: written?.generation ?? null,
    ...observedOf(facts),
    fleets: fleetsOf(facts) ?? null,
    state: stateOf(facts, deviations.length > 0),
    reason: refusals[0]?.reason ?? (deviations.length > 0 ? REJECTED : null),
    problems: [
      ...refusals.map(({ field, message, reason, place: at }) => problemAt(at, { field, message, reason })),
      ...deviations.map(({ fleet, revision, message }) => {
        const meanwhile = revision === undefined ? "it is left out there" : "an earlier revision is active there";
        const text = `pods of fleet ${fleet} NACKed it, ${meanwhile}: ${message}`;
        return problemAt(place, { field: "", message: text, reason: REJECTED });
      }),
    ],
    servesLastGood:
      accepted?.isLastGood === true ||
      refusals.some(({ reason, keepsLastGood }) => reason === "TooLarge" && keepsLastGood) ||
      deviations.some(({ revision }) => revision !== undefined),
    file: place?.file ?? "",
    line: place?.line ?? 0,
    pods,
    podStates,
    warnings: accepted === undefined ? [] : findWarnings(accepted.content.message),
    fleetStates,
    settledDigest,
  };
}

function stateOf({ accepted, refusals }: ResourceFacts, isQuarantined: boolean): ResourceStatus {
  if (isQuarantined) return "quarantined";
  if (accepted === undefined) return "refused";
  const tooLarge = refusals.find(({ reason }) => reason === "TooLarge");
  if (tooLarge !== undefined) return tooLarge.keepsLastGood ? "last-good" : "refused";
  return accepted.isLastGood ? "last-good" : "served";
}

function problemAt(
  place: SourceLocation | undefined,
  problem: Pick<ProblemReport, "field" | "message" | "reason">,
): ProblemReport {
  return { ...problem, ...(place ?? { file: "", line: 0, column: 0 }) };
}

/** Counts the pods whose fleet's snapshot has the resource. A pod is current with the current revision. */
function countPods(key: string, present: Revision | undefined, fleets: readonly GroupedFleet[]): ResourcePods {
  const podStates = { current: 0, rejected: 0, pending: 0, waiting: 0 };
  const deviations = new Map<string, Deviation & { readonly fleet: string }>();
  const fleetStates: ResourceFleetReport[] = [];
  let pods = 0;
  for (const { fleet, snapshot, groups } of fleets) {
    const published = snapshot?.get(key);
    if (published === undefined) continue;
    const [acceptedGroups, pendingGroups]: [number[], number[]] = [[], []];
    const rejections: GroupRejection[] = [];
    for (const { id, pod, size } of groups) {
      pods += size;
      const deviation = deviationOf(pod, published);
      if (deviation !== undefined) {
        const { revision, message } = deviation;
        podStates.rejected += size;
        rejections.push({ group: id, message, activeDigest: revision?.digest ?? null });
        if (deviations.size < DEVIATIONS_MAX)
          deviations.getOrInsert(`${fleet} ${revision?.digest}`, { fleet, ...deviation });
      } else if (present !== undefined && revisionIn(pod.acked, key)?.digest === present.digest) {
        podStates.current += size;
        acceptedGroups.push(id);
      } else {
        podStates.pending += size;
        pendingGroups.push(id);
      }
    }
    fleetStates.push({ fleet, digest: published.digest, acceptedGroups, pendingGroups, rejections });
  }
  return { pods, podStates, deviations: [...deviations.values()], fleetStates, settledDigest: null };
}

/** The object that was read last: the invalid one, if there is one. */
function observedOf({ written, refusals }: ResourceFacts): Pick<ResourceReport, "uid" | "observedGeneration"> {
  const { uid, generation } = refusals.find((refusal) => refusal.uid !== undefined) ?? written ?? {};
  return { uid: uid ?? null, observedGeneration: generation ?? null };
}
