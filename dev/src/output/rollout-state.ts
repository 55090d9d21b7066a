// The control plane's rollout, reduced to what the terminal shows, and the difference of two such
// states in words.

/** An error in a manifest. */
export interface ManifestTrouble {
  /** The file with the error. */
  readonly file: string;
  /** File, line and column, such as `limits/login.yaml:12:9`. */
  readonly place: string;
  readonly field: string;
  readonly message: string;
  /** True if the limits of its last valid revision stay active. */
  readonly keepsOld: boolean;
}

/** The configuration that one pod accepted or rejected last. */
export interface PodState {
  readonly id: string;
  readonly accepted: string | undefined;
  /** Resources in the accepted version; undefined when it is no longer the newest. */
  readonly resources: number | undefined;
  readonly rejected: { readonly version: string; readonly message: string } | undefined;
}

/** The status in short. */
export interface RolloutState {
  /** True if the manifests can be read at all. */
  readonly isReadable: boolean;
  readonly troubles: readonly ManifestTrouble[];
  readonly pods: readonly PodState[];
}

/** A line to print. */
export interface Remark {
  /** The program that it is about. */
  readonly subject: string;
  readonly text: string;
}

/** The part of the control plane's rollout that is read here, in the JSON of protobuf: what is empty is left out. */
interface RolloutJson {
  readonly source?: { readonly error?: string };
  readonly fleets?: readonly { readonly name: string; readonly version?: string; readonly resources?: number }[];
  readonly unreadable?: readonly (ProblemJson & { readonly servesLastGood?: boolean })[];
  readonly resources?: readonly { readonly servesLastGood?: boolean; readonly problems?: readonly ProblemJson[] }[];
  readonly pods?: readonly {
    readonly nodeId?: string;
    readonly fleet: string;
    readonly accepted?: { readonly version: string };
    readonly rejected?: { readonly version: string };
    readonly rejection?: string;
  }[];
}

interface ProblemJson {
  readonly location: string;
  readonly field?: string;
  readonly message: string;
}

/** Hexadecimal digits of a version that are shown: enough to distinguish two. */
const VERSION_SHOWN = 12;

/** The lines to print when the state goes from `previous` (undefined at first) to `next`. */
export function describeChanges(previous: RolloutState | undefined, next: RolloutState): readonly Remark[] {
  // The log says that they cannot be read.
  const isReadableAgain = next.isReadable && previous?.isReadable === false;
  return [
    ...(isReadableAgain ? [{ subject: "control plane", text: "the manifests can be read again" }] : []),
    ...describeTroubles(previous?.troubles ?? [], next.troubles),
    ...next.pods.flatMap((pod) => describePod(previous, pod)),
  ];
}

/** Reads the rollout of a control plane, a program of the same build. */
export function readRolloutState(rollout: unknown): RolloutState {
  const { source, fleets = [], unreadable = [], resources = [], pods = [] } = rollout as RolloutJson;
  return {
    isReadable: source?.error === undefined,
    troubles: [
      ...unreadable.map((problem) => troubleOf(problem, problem.servesLastGood)),
      // Invalid, or valid for the control plane and rejected by pods.
      ...resources.flatMap(({ problems = [], servesLastGood }) =>
        problems.map((problem) => troubleOf(problem, servesLastGood)),
      ),
    ],
    pods: pods.map(({ nodeId = "", fleet, accepted, rejected, rejection = "" }) => {
      // "*" is every fleet that no manifest names.
      const newest = fleets.find(({ name }) => name === fleet) ?? fleets.find(({ name }) => name === "*");
      const isNewest = accepted !== undefined && newest?.version === accepted.version;
      return {
        id: nodeId,
        accepted: accepted?.version,
        resources: isNewest ? (newest.resources ?? 0) : undefined,
        rejected: rejected === undefined ? undefined : { version: rejected.version, message: rejection },
      };
    }),
  };
}

function troubleOf({ location, field = "", message }: ProblemJson, keepsOld = false): ManifestTrouble {
  return { file: location.replace(/(?::\d+){1,2}$/, ""), place: location, field, message, keepsOld };
}

function describeTroubles(before: readonly ManifestTrouble[], now: readonly ManifestTrouble[]): readonly Remark[] {
  const known = new Set(before.map(identify));
  const fresh = now.filter((trouble) => !known.has(identify(trouble)));
  if (fresh.length > 0)
    return groupByManifest(fresh).map((troubles) => ({ subject: "control plane", text: describeManifest(troubles) }));
  return before.length > 0 && now.length === 0
    ? [{ subject: "control plane", text: "every manifest is good again" }]
    : [];
}

function identify({ place, field, message, keepsOld }: ManifestTrouble): string {
  return JSON.stringify([place, field, message, keepsOld]);
}

/**
 * Groups neighbours of one file with the same effect, which is printed once. A file may hold several
 * manifests with different effects.
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
    keepsOld ? "the old limits of this manifest stay active" : "none of the limits in it are active",
  ].join("\n");
}

function describePod(previous: RolloutState | undefined, pod: PodState): readonly Remark[] {
  const before = previous?.pods.find(({ id }) => id === pod.id);
  const remarks: Remark[] = [];
  if (pod.accepted !== undefined && pod.accepted !== before?.accepted) {
    remarks.push({ subject: "rate limit", text: `accepted version ${shorten(pod.accepted)}${describeCount(pod)}` });
  }
  if (pod.rejected !== undefined && pod.rejected.version !== before?.rejected?.version) {
    remarks.push({
      subject: "rate limit",
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
