// Prints the changes between two merged rollouts, one line each, for logs and pipes. Pure.
import { type Pod, PodState } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { podName, resourceName } from "@weir/proto/rollout/merge-rollouts";
import type { MergedRollout } from "@weir/proto/rollout/merged-rollout";

import { counted, printable } from "../command-line/printable.ts";
import { podState, resourceState, shortVersion, summary } from "./report.ts";

/** The lines; without `before` everything is new. */
export function changedLines(
  before: MergedRollout | undefined,
  after: MergedRollout,
  nowMs: number,
): readonly string[] {
  const old = before === undefined ? new Map<string, string>() : stateOf(before);
  const present = stateOf(after);
  const lines = [
    ...[...present].filter(([what, state]) => old.get(what) !== state).map(([what, state]) => `${what} ${state}`),
    ...[...old.keys()].filter((what) => !present.has(what)).map((what) => `${what} is gone`),
  ];
  const said = before === undefined ? "" : summary(before);
  const time = new Date(nowMs).toISOString();
  return [...lines, ...(summary(after) === said ? [] : [summary(after)])].map((line) => `${time} ${printable(line)}`);
}

/** The state of everything, by its name. */
function stateOf({ fleets, pods, resources, replicas, unreadable }: MergedRollout): ReadonlyMap<string, string> {
  return new Map([
    ...replicas.map(({ server, error }): [string, string] => [
      `server ${server}`,
      error === undefined ? "answers" : `fails: ${error}`,
    ]),
    ...fleets.map(({ name, versions, resources: count }): [string, string] => [
      `fleet ${name}`,
      `serves ${versions.map(shortVersion).join(",") || "nothing"} with ${counted(count, "resource")}`,
    ]),
    // Without the number of ACKs: each push would change the line of every resource.
    ...resources.map(({ resource }): [string, string] => [
      `resource ${resourceName(resource)}`,
      `${resourceState(resource)}${resource.reason === "" ? "" : ` ${resource.reason}`}`,
    ]),
    ...[...Map.groupBy(pods, ({ pod }) => `pod ${podName(pod)} (${pod.fleet})`)].map(
      ([what, all]): [string, string] => [what, statesOf(all.map(({ pod }) => pod))],
    ),
    ...unreadable.map(({ location, message }): [string, string] => [`unreadable ${location}`, message]),
  ]);
}

/** The states of pods with one name: pods of envoyproxy/ratelimit are all named "default". */
function statesOf(pods: readonly Pod[]): string {
  const groups = [...Map.groupBy(pods, podText)].toSorted(([left], [right]) => (left < right ? 1 : -1));
  return groups.map(([text, same]) => (pods.length === 1 ? text : `${same.length} × ${text}`)).join("; ");
}

function podText(pod: Pod): string {
  const version = shortVersion(pod.state === PodState.REJECTED ? pod.rejected?.version : pod.accepted?.version);
  return `${podState(pod)} ${version}${pod.rejection === "" ? "" : `: ${pod.rejection}`}`;
}
