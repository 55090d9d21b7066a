// Reports resources: the status of each, its problems, and the sync status of its pods. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { AcceptedResource, Refusal } from "../../assemble/desired-configuration.ts";
import type { NackedResource } from "../../snapshot/nacks.ts";
import { fleetName } from "../../snapshot/publication-log.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { type Place, resourceKey, type SourceResource } from "../../source/source.ts";
import { findWarnings } from "./find-warnings.ts";
import type {
  ProblemReport,
  ResourceReport,
  ResourceStatus,
  RolloutFilter,
  SyncStatusCounts,
} from "./rollout-report.ts";

/** The pods of one fleet by sync status. */
export interface FleetPods {
  readonly fleet: string;
  readonly published: { readonly snapshot: { readonly digests: ReadonlyMap<string, string> } | undefined };
  readonly pods: number;
  readonly podStates: SyncStatusCounts;
}

/** The input of the reports. */
export interface ResourceSources {
  readonly publisher: PublisherState;
  /** Of the desired configuration, and of too large snapshots. */
  readonly refusals: readonly Refusal[];
  readonly fleets: readonly FleetPods[];
}

/** Every resource that passes the filter, sorted by namespace and name. */
export function reportResources(
  { publisher, refusals, fleets }: ResourceSources,
  filter: RolloutFilter,
): readonly ResourceReport[] {
  return [...collectFacts(publisher, refusals).values()]
    .filter((facts) => isWanted(facts, filter))
    .toSorted(
      (left, right) => compareCodeUnits(left.namespace, right.namespace) || compareCodeUnits(left.name, right.name),
    )
    .map((facts) => reportResource(facts, publisher, fleets));
}

/** Resources that wait because of a too large snapshot, per fleet: its causes, and the others. */
export function tooLargeRefusals(publisher: PublisherState): readonly Refusal[] {
  const accepted = new Map(publisher.desired?.accepted.map((resource) => [resource.key, resource]));
  return [...publisher.publication].flatMap(([fleet, { hold, snapshot }]) => {
    if (hold?.kind !== "too-large") return [];
    const offenders = new Set(hold.resources);
    const size = `${hold.sizeBytes} bytes, more than SNAPSHOT_MAX_BYTES; the earlier configuration stays active`;
    const what = `the configuration of fleet ${fleetName(fleet)} has ${size}`;
    return [...new Set([...hold.resources, ...keptBack(publisher, fleet)])].flatMap((key): readonly Refusal[] => {
      const resource = accepted.get(key);
      if (resource === undefined) return [];
      const message = offenders.has(key) ? `with it ${what}` : `it waits together with larger ones: ${what}`;
      const keepsLastGood = snapshot?.digests.has(key) ?? false;
      return [{ reason: "TooLarge", resource: key, place: resource.place, field: "spec", message, keepsLastGood }];
    });
  });
}

/** Names of the resources whose wanted form is not active for a fleet. */
function keptBack({ publication, wanted }: PublisherState, fleet: string): readonly string[] {
  const active = publication.get(fleet)?.snapshot;
  const resources = (wanted?.byFleet.get(fleet) ?? wanted?.others)?.resources ?? [];
  return resources.filter(({ name, digest }) => active?.digests.get(name) !== digest).map(({ name }) => name);
}

/** Resources that are not active because pods NACKed a whole version and named no resource. */
function withheld(publisher: PublisherState): readonly Withheld[] {
  return [...publisher.publication].flatMap(([fleet, { hold, snapshot }]) => {
    if (hold?.kind !== "rejected") return [];
    const named = new Set(
      publisher.nacks.resources.filter((each) => each.fleet === fleet).map(({ resource }) => resource),
    );
    const { message } = hold;
    return keptBack(publisher, fleet)
      .filter((key) => !named.has(key))
      .map((key) => ({ resource: key, fleet, message, servesLastGood: snapshot?.digests.has(key) ?? false }));
  });
}

/** A resource that waits because pods NACKed the version with its present form. */
interface Withheld {
  readonly resource: string;
  readonly fleet: string;
  /** The text of the NACK. */
  readonly message: string;
  readonly servesLastGood: boolean;
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
  readonly nacked: NackedResource[];
  readonly withheld: Withheld[];
}

function collectFacts(publisher: PublisherState, refused: readonly Refusal[]): ReadonlyMap<string, ResourceFacts> {
  const known = new Map<string, ResourceFacts>();
  const factsOf = (key: string): ResourceFacts => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const slash = key.indexOf("/");
    const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
    const facts = {
      key,
      namespace,
      name,
      written: undefined,
      accepted: undefined,
      refusals: [],
      nacked: [],
      withheld: [],
    };
    known.set(key, facts);
    return facts;
  };
  for (const resource of publisher.read?.resources ?? []) factsOf(resourceKey(resource)).written ??= resource;
  for (const accepted of publisher.desired?.accepted ?? []) factsOf(accepted.key).accepted = accepted;
  const unnamed = refusalsOfFiles(refused);
  for (const refusal of refused) {
    if (refusal.resource !== undefined) factsOf(refusal.resource).refusals.push(refusal);
  }
  for (const nacked of publisher.nacks.resources) factsOf(nacked.resource).nacked.push(nacked);
  for (const each of withheld(publisher)) factsOf(each.resource).withheld.push(each);
  for (const { accepted, refusals } of known.values()) {
    // A file that does not parse names no resource, and its last good ones stay.
    if (accepted?.isLastGood === true && refusals.length === 0)
      refusals.push(...(unnamed.get(accepted.place.file) ?? []));
  }
  return known;
}

function refusalsOfFiles(refusals: readonly Refusal[]): ReadonlyMap<string, readonly Refusal[]> {
  const unnamed = refusals.filter(({ resource, keepsLastGood }) => resource === undefined && keepsLastGood);
  return Map.groupBy(unnamed, ({ place }) => place.file);
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

function reportResource(facts: ResourceFacts, publisher: PublisherState, fleets: readonly FleetPods[]): ResourceReport {
  const { key, namespace, name, written, accepted, refusals, nacked, withheld: waiting } = facts;
  const quarantined = nacked.filter(({ serves }) => serves !== "present");
  const place = accepted?.place ?? written?.place ?? refusals[0]?.place;
  const state = stateOf(facts, quarantined);
  return {
    resource: key,
    namespace,
    name,
    domain: accepted?.domain ?? written?.resource.spec.domain ?? "",
    generation: written?.generation ?? null,
    fleets: fleetsOf(facts) ?? null,
    state,
    reason: refusals[0]?.reason ?? (state === "quarantined" ? "RejectedByDataPlane" : null),
    problems: [
      ...refusals.map(({ field, message, place: at }) => problemAt(at, field, message)),
      ...quarantined.map((each) => nackProblem(each, place)),
      ...waiting.map((each) => versionNackProblem(each, place)),
    ],
    servesLastGood:
      accepted?.isLastGood === true ||
      refusals.some(({ reason, keepsLastGood }) => reason === "TooLarge" && keepsLastGood) ||
      quarantined.some(({ serves }) => serves === "last-good") ||
      waiting.some(({ servesLastGood }) => servesLastGood),
    file: place?.file ?? "",
    line: place?.line ?? 0,
    ...countPods(key, publisher, fleets),
    warnings: [...(accepted === undefined ? [] : findWarnings(accepted.message)), ...nacked.flatMap(nackWarning)],
  };
}

function stateOf(
  { accepted, refusals, withheld: waiting }: ResourceFacts,
  quarantined: readonly NackedResource[],
): ResourceStatus {
  if (quarantined.length > 0 || waiting.length > 0) return "quarantined";
  if (accepted === undefined) return "refused";
  const tooLarge = refusals.filter(({ reason }) => reason === "TooLarge");
  if (tooLarge.length > 0) return tooLarge.some(({ keepsLastGood }) => keepsLastGood) ? "last-good" : "refused";
  return accepted.isLastGood ? "last-good" : "served";
}

function problemAt({ file, line, column }: Place, field: string, message: string): ProblemReport {
  return { field, message, file, line, column };
}

function nackProblem({ fleet, message, serves }: NackedResource, place: Place | undefined): ProblemReport {
  const meanwhile = serves === "last-good" ? "its last ACKed form is active" : "it is left out";
  const text = `pods of fleet ${fleetName(fleet)} NACKed it, ${meanwhile}: ${message}`;
  return problemAt(place ?? { file: "", line: 0, column: 0 }, "", text);
}

function versionNackProblem({ fleet, message, servesLastGood }: Withheld, place: Place | undefined): ProblemReport {
  const meanwhile = servesLastGood ? "an earlier form of it is active" : "it is not active";
  const text = `pods of fleet ${fleetName(fleet)} NACKed the version with it and named no resource, ${meanwhile}: ${message}`;
  return problemAt(place ?? { file: "", line: 0, column: 0 }, "", text);
}

/** A content that one pod NACKs and another ACKs is active, with a warning. */
function nackWarning({ fleet, serves, nackingPods, message }: NackedResource): readonly string[] {
  if (serves !== "present") return [];
  const who = nackingPods === 1 ? "1 pod NACKs it" : `${nackingPods} pods NACK it`;
  return [`${who} while others of fleet ${fleetName(fleet)} ACK it: ${message}`];
}

/** Counts the pods whose active snapshot contains the resource. */
function countPods(
  key: string,
  { wanted }: PublisherState,
  fleets: readonly FleetPods[],
): Pick<ResourceReport, "pods" | "podStates"> {
  const total = { current: 0, rejected: 0, pending: 0, waiting: 0 };
  let pods = 0;
  for (const { fleet, published, pods: members, podStates } of fleets) {
    const digest = published.snapshot?.digests.get(key);
    if (digest === undefined) continue;
    const present = (wanted?.byFleet.get(fleet) ?? wanted?.others)?.digests.get(key);
    pods += members;
    total.rejected += podStates.rejected;
    // While the present form is held back, no pod can have ACKed it.
    total[digest === present ? "current" : "pending"] += podStates.current;
    total.pending += podStates.pending;
  }
  return { pods, podStates: total };
}
