// What the control plane's status says, reduced to what a person at the terminal wants to hear, and
// the difference of two such states in words. Pure.

/** Something wrong with a manifest. */
export interface ManifestTrouble {
  /** The file that it stands in. */
  readonly file: string;
  /** File, line and column, such as `limits/login.yaml:12:9`. */
  readonly place: string;
  readonly field: string;
  readonly message: string;
  /** Whether an earlier good form of it stays in force. */
  readonly keepsOld: boolean;
}

/** What one pod has made of the configuration. */
export interface PodState {
  readonly id: string;
  readonly accepted: string | undefined;
  /** How many resources the accepted version holds; undefined when it is no longer the newest. */
  readonly resources: number | undefined;
  readonly rejected: { readonly version: string; readonly message: string } | undefined;
}

/** The status in short. */
export interface RolloutState {
  /** Whether the manifests can be read at all. */
  readonly isReadable: boolean;
  readonly troubles: readonly ManifestTrouble[];
  readonly pods: readonly PodState[];
}

/** One line for the person. */
export interface Remark {
  readonly speaker: string;
  readonly text: string;
}

/** The part of the control plane's `/status` that is read here. */
interface StatusReport {
  readonly source: { readonly error: string | null };
  readonly fleets: readonly { readonly fleet: string; readonly version: string | null; readonly resources: number }[];
  readonly refusals: readonly {
    readonly file: string;
    readonly line: number;
    readonly column: number;
    readonly field: string;
    readonly message: string;
    readonly keepsLastGood: boolean;
  }[];
  readonly resources: readonly {
    readonly state: string;
    readonly servesLastGood: boolean;
    readonly problems: readonly {
      readonly file: string;
      readonly line: number;
      readonly column: number;
      readonly field: string;
      readonly message: string;
    }[];
  }[];
  readonly pods: readonly {
    readonly node: string;
    readonly fleet: string;
    readonly accepted: { readonly version: string } | null;
    readonly rejected: { readonly version: string; readonly message: string } | null;
  }[];
}

/** Hexadecimal digits of a version that are shown: enough to tell two apart. */
const VERSION_SHOWN = 12;

/** What to say when the state goes from `previous` (undefined at first) to `next`. */
export function describeChanges(previous: RolloutState | undefined, next: RolloutState): readonly Remark[] {
  // That they cannot be read is told by the log.
  const isReadableAgain = next.isReadable && previous?.isReadable === false;
  return [
    ...(isReadableAgain ? [{ speaker: "control plane", text: "the manifests can be read again" }] : []),
    ...describeTroubles(previous?.troubles ?? [], next.troubles),
    ...next.pods.flatMap((pod) => describePod(previous, pod)),
  ];
}

/**
 * Reads the body of the control plane's `/status`, which comes from a program of the same build.
 */
export function readRolloutState(status: unknown): RolloutState {
  const { source, fleets, refusals, resources, pods } = status as StatusReport;
  const refused = refusals.map(({ file, line, column, field, message, keepsLastGood }) => {
    return { file, place: `${file}:${line}:${column}`, field, message, keepsOld: keepsLastGood };
  });
  // Good for the control plane and rejected by pods: no refusal, and no less a trouble for who
  // wrote it.
  const quarantined = resources
    .filter(({ state }) => state === "quarantined")
    .flatMap(({ problems, servesLastGood }) =>
      problems.map(({ file, line, column, field, message }) => ({
        file,
        place: `${file}:${line}:${column}`,
        field,
        message,
        keepsOld: servesLastGood,
      })),
    )
    .filter(({ place, message }) => !refused.some((known) => known.place === place && known.message === message));
  return {
    isReadable: source.error === null,
    troubles: [...refused, ...quarantined],
    pods: pods.map(({ node, fleet, accepted, rejected }) => {
      // "*" stands for every fleet that no manifest names.
      const newest = fleets.find((each) => each.fleet === fleet) ?? fleets.find((each) => each.fleet === "*");
      return {
        id: node,
        accepted: accepted?.version,
        resources: newest?.version === accepted?.version ? newest?.resources : undefined,
        rejected: rejected === null ? undefined : { version: rejected.version, message: rejected.message },
      };
    }),
  };
}

function describeTroubles(before: readonly ManifestTrouble[], now: readonly ManifestTrouble[]): readonly Remark[] {
  const known = new Set(before.map(identify));
  const fresh = now.filter((trouble) => !known.has(identify(trouble)));
  if (fresh.length > 0)
    return groupByManifest(fresh).map((troubles) => ({ speaker: "control plane", text: describeManifest(troubles) }));
  return before.length > 0 && now.length === 0
    ? [{ speaker: "control plane", text: "every manifest is good again" }]
    : [];
}

function identify({ place, field, message, keepsOld }: ManifestTrouble): string {
  return JSON.stringify([place, field, message, keepsOld]);
}

/**
 * Neighbours of one file with the same consequence, which is said once. A file may hold several
 * manifests that fare differently.
 */
function groupByManifest(troubles: readonly ManifestTrouble[]): readonly (readonly ManifestTrouble[])[] {
  const groups: ManifestTrouble[][] = [];
  for (const trouble of troubles) {
    const last = groups.at(-1);
    if (last?.[0]?.file === trouble.file && last[0].keepsOld === trouble.keepsOld) last.push(trouble);
    else groups.push([trouble]);
  }
  return groups;
}

function describeManifest(troubles: readonly ManifestTrouble[]): string {
  const lines = troubles.map(({ place, field, message }) => `${place}: ${field === "" ? "" : `${field}: `}${message}`);
  const keepsOld = troubles[0]?.keepsOld === true;
  return [
    ...lines,
    keepsOld ? "the old limits of this manifest stay in force" : "none of the limits in it are in force",
  ].join("\n");
}

function describePod(previous: RolloutState | undefined, pod: PodState): readonly Remark[] {
  const before = previous?.pods.find(({ id }) => id === pod.id);
  const remarks: Remark[] = [];
  if (pod.accepted !== undefined && pod.accepted !== before?.accepted) {
    remarks.push({ speaker: "rate limit", text: `accepted version ${shorten(pod.accepted)}${describeCount(pod)}` });
  }
  if (pod.rejected !== undefined && pod.rejected.version !== before?.rejected?.version) {
    remarks.push({
      speaker: "rate limit",
      text: `rejected version ${shorten(pod.rejected.version)}: ${pod.rejected.message}`,
    });
  }
  return remarks;
}

function describeCount({ resources }: PodState): string {
  return resources === undefined ? "" : ` (${resources} ${resources === 1 ? "manifest" : "manifests"})`;
}

function shorten(version: string): string {
  return version.slice(0, VERSION_SHOWN);
}
