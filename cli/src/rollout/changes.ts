// What has changed between two pictures of the rollout, a line for each: for logs and pipes, where
// a table cannot be drawn anew. Pure.
import { type Pod, PodState } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { counted, printable } from "../command-line/printable.ts";
import { podName, resourceName } from "./merge.ts";
import type { MergedRollout } from "./merge.ts";
import { podState, resourceState, shortVersion, summary } from "./report.ts";

/** The lines; `before` is undefined for the first picture, of which everything is new. */
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

/** Each thing and how it stands. */
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
    // Without the pods that have accepted it: each push would have lines for every resource. The
    // pods' own lines tell.
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

/** How pods of one name stand: those of the reference service are all called "default". */
function statesOf(pods: readonly Pod[]): string {
  const groups = [...Map.groupBy(pods, podText)].toSorted(([left], [right]) => (left < right ? 1 : -1));
  return groups.map(([text, same]) => (pods.length === 1 ? text : `${same.length} × ${text}`)).join("; ");
}

function podText(pod: Pod): string {
  const version = shortVersion(pod.state === PodState.REJECTED ? pod.rejected?.version : pod.accepted?.version);
  return `${podState(pod)} ${version}${pod.rejection === "" ? "" : `: ${pod.rejection}`}`;
}
