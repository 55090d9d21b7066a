// Groups the errors of replicas: one error of several is shown once, with their names. Pure.
import type { ReplicaAnswer } from "./merged-rollout.ts";

/** An address with a port: different for each replica that nothing else distinguishes. */
const ADDRESS = /\S+:\d+\b/g;

/** A problem of one replica, in the words for one and for several. */
export interface ReplicaProblem {
  readonly replica: string;
  readonly one: string;
  readonly many: string;
}

/** Why servers did not answer: one text per error. */
export function replicaErrors(replicas: readonly ReplicaAnswer[]): readonly string[] {
  const failed = replicas.flatMap(({ server, error }) => (error === undefined ? [] : [{ server, error }]));
  const groups = Map.groupBy(failed, ({ server, error }) => error.replaceAll(server, "").replaceAll(ADDRESS, ""));
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    return others.length === 0
      ? [first.error]
      : [`${first.error}; the same: ${others.map(({ server }) => server).join(", ")}`];
  });
}

/** One text per problem, with the names of the replicas that have it. */
export function replicaProblems(problems: readonly ReplicaProblem[]): readonly string[] {
  return [...Map.groupBy(problems, ({ one }) => one)].map(([one, group]) => {
    const names = group.map(({ replica }) => replica);
    if (names.length === 1) return `the replica ${names[0]} ${one}`;
    return `the replicas ${names.slice(0, -1).join(", ")} and ${names.at(-1)} ${group[0]?.many}`;
  });
}
