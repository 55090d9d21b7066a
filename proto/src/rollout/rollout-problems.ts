// Lists the problems of a merged rollout, as texts for people. Pure.
import { Hold, PodState, ResourceState } from "../generated/weir/rollout/v1/rollout_pb.ts";
import { absentPods } from "./absent-fleets.ts";
import type { MergedRollout, WantedResource } from "./merged-rollout.ts";
import { replicaErrors, replicaProblems, type ReplicaProblem } from "./replica-errors.ts";

const HOLD_TEXT: Readonly<Record<Hold, string>> = {
  [Hold.UNSPECIFIED]: "",
  [Hold.EMPTY]: "no resource is left, which may be an accident",
  [Hold.TOO_LARGE]: "it is larger than pods can receive",
  [Hold.REJECTED]: "pods NACKed it without naming a resource",
};

/** Line and column after the path of a file. */
const PLACE_IN_FILE = /:\d+:\d+$/;

/** Why newer content of a fleet is held back; empty when it is not. */
export function holdText(hold: Hold): string {
  return HOLD_TEXT[hold] ?? "for a reason that this program does not know";
}

/** The problems; empty when every resource is served and ACKed, and the wanted resource exists. */
export function rolloutProblems(merged: Omit<MergedRollout, "problems">, wanted: WantedResource): readonly string[] {
  return [
    ...replicaErrors(merged.replicas),
    ...replicaProblems(merged.replicas.flatMap(stateProblems)),
    ...merged.fleets.flatMap(({ name, versions, holds }) => [
      ...(versions.length > 1 ? [`the replicas serve ${versions.length} versions to the fleet ${name}`] : []),
      ...holds.map((hold) => `newer content of the fleet ${name} is held back: ${holdText(hold)}`),
    ]),
    ...resourceProblems(merged),
    ...podProblems(merged),
    ...replicaProblems(missing(merged, wanted)),
    ...absentPods(merged, wanted),
  ];
}

function stateProblems({ server, rollout }: MergedRollout["replicas"][number]): readonly ReplicaProblem[] {
  if (rollout === undefined) return [];
  const replica = rollout.replica === "" ? server : rollout.replica;
  const { location, error } = rollout.source ?? { location: "", error: "" };
  const unread = `read ${location}: ${error}`;
  return [
    ...(rollout.ready ? [] : [{ replica, one: "serves nothing yet", many: "serve nothing yet" }]),
    ...(error === "" ? [] : [{ replica, one: `cannot ${unread}`, many: `cannot ${unread}` }]),
  ];
}

function resourceProblems({
  resources,
  unreadable,
}: Pick<MergedRollout, "resources" | "unreadable">): readonly string[] {
  const all = resources.map(({ resource }) => resource);
  const served = all.filter(({ state }) => state === ResourceState.SERVED);
  const stale = served.filter(({ servesLastGood }) => servesLastGood).length;
  const contested = served.filter(({ servesLastGood, reason }) => !servesLastGood && reason !== "").length;
  const files = new Set(unreadable.map(({ location }) => location.replace(PLACE_IN_FILE, ""))).size;
  return [
    ...text(all.length - served.length, "resource is", "resources are", "not served as written"),
    ...text(stale, "resource is", "resources are", "served in an earlier revision"),
    ...text(contested, "resource is", "resources are", "served, but another manifest of the same name is invalid"),
    ...text(files, "file or object", "files or objects", "cannot be read"),
  ];
}

function podProblems({ pods }: Pick<MergedRollout, "pods">): readonly string[] {
  const states = pods.map(({ pod }) => pod.state);
  const rejecting = states.filter((state) => state === PodState.REJECTED).length;
  const waiting = states.filter((state) => state !== PodState.REJECTED && state !== PodState.ACCEPTED).length;
  return [
    ...text(rejecting, "pod has", "pods have", "NACKed the active version"),
    ...text(waiting, "pod has", "pods have", "not yet ACKed the active version"),
  ];
}

/** Replicas that do not know the wanted resource, or only in an earlier generation. */
function missing({ replicas }: Pick<MergedRollout, "replicas">, wanted: WantedResource): readonly ReplicaProblem[] {
  const { namespace, name, generation } = wanted;
  if (name === "" && namespace === "") return [];
  return replicas.flatMap(({ server, rollout }) => {
    if (rollout === undefined) return [];
    const replica = rollout.replica === "" ? server : rollout.replica;
    const unknown = (what: string): readonly ReplicaProblem[] => [
      { replica, one: `knows ${what}`, many: `know ${what}` },
    ];
    const inNamespace = rollout.resources.filter((resource) => resource.namespace === namespace);
    if (name === "") return inNamespace.length > 0 ? [] : unknown(`no resource in the namespace ${namespace}`);
    const known = inNamespace.find((resource) => resource.name === name);
    if (known === undefined) return unknown(`no resource ${namespace}/${name}`);
    return known.generation >= BigInt(generation)
      ? []
      : unknown(`${namespace}/${name} in generation ${known.generation}, not yet in ${generation}`);
  });
}

/** The number with its noun and what is the matter; nothing for 0. */
function text(count: number, one: string, many: string, what: string): readonly string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many} ${what}`];
}
