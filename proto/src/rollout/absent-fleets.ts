// Finds the fleets that a resource names and of which no pod is connected: as a rule, typing errors.
// Pure.
import type { MergedRollout, WantedResource } from "./merged-rollout.ts";

/** Most names in one text; the others are counted. */
const NAMES_MAX = 20;

/** One text for each of the fleets without a pod; `here` follows "connected". */
export function absentFleets(
  fleets: readonly string[],
  podFleets: ReadonlySet<string>,
  here: "" | " to this replica" = "",
): readonly string[] {
  const known = podFleets.size === 0 ? "no pod is connected at all" : `fleets with pods: ${listNames(podFleets)}`;
  return fleets
    .filter((fleet) => !podFleets.has(fleet))
    .map((fleet) => `no pod of fleet ${fleet} is connected${here} (${known})`);
}

/** A resource as one replica reports it. */
interface WarnedResource {
  readonly fleets: readonly string[];
  readonly warnings: readonly string[];
}

/** The warnings of a resource, those about fleets corrected by the pods of all replicas. */
export function mergeFleetWarnings(
  shown: WarnedResource,
  answers: readonly WarnedResource[],
  { podFleets, filter }: { readonly podFleets: ReadonlySet<string>; readonly filter: string },
): string[] {
  const others = shown.warnings.filter((text) => !isAboutFleet(shown, text));
  const isWarned = answers.some((answer) => answer.warnings.some((text) => isAboutFleet(answer, text)));
  return isWarned ? [...others, ...absentOf(shown.fleets, podFleets, filter)] : others;
}

function isAboutFleet({ fleets }: WarnedResource, text: string): boolean {
  return fleets.some((fleet) => text.startsWith(`no pod of fleet ${fleet} is connected to this replica `));
}

/** The problems of a wanted resource that needs pods: no pod of one of its fleets is connected. */
export function absentPods(
  { resources, pods }: Pick<MergedRollout, "resources" | "pods">,
  { namespace, name, fleet = "", needsPods = false }: WantedResource,
): readonly string[] {
  if (!needsPods || name === "") return [];
  const wanted = resources.find(({ resource }) => resource.namespace === namespace && resource.name === name);
  if (wanted === undefined) return [];
  const { fleets } = wanted.resource;
  if (fleets.length === 0 && fleet === "") return pods.length > 0 ? [] : ["no pod is connected"];
  return absentOf(fleets, new Set(pods.map(({ pod }) => pod.fleet)), fleet);
}

/** With a filter the replicas report the pods of that fleet alone. */
function absentOf(fleets: readonly string[], podFleets: ReadonlySet<string>, filter: string): readonly string[] {
  if (filter === "") return absentFleets(fleets, podFleets);
  return podFleets.size > 0 ? [] : [`no pod of fleet ${filter} is connected`];
}

/** Names in order, at most {@link NAMES_MAX} of them. */
export function listNames(names: ReadonlySet<string>): string {
  const shown = [...names].toSorted((left, right) => (left < right ? -1 : 1)).slice(0, NAMES_MAX);
  return names.size > shown.length ? `${shown.join(", ")} and ${names.size - shown.length} more` : shown.join(", ");
}
