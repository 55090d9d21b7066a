// Decides how to follow a set of objects: list it, watch it from there, and recover when either
// fails. Pure: takes events, returns the next state and actions for reflector-run.ts.
import type { FailureKind } from "../client/api-failure.ts";
import type { KubernetesObject, ObjectPage } from "../client/kubernetes-object.ts";

/**
 * A list without a limit: API servers return it from memory, ten times as fast as pages, which they
 * read from etcd.
 */
const WHOLE = 0;

/** Objects on one page, when the whole was too large. */
const PAGE_OBJECTS = 250;

/** How much smaller pages become when one was too large to be read. */
const PAGE_DIVISOR = 4;

/**
 * A watch that ends sooner is not healthy, whatever events it had, in milliseconds: the waits before
 * the next lists continue to grow.
 */
export const SHORT_WATCH_MS = 5000;

/** A resource version that can be compared with others: those of all API servers of Kubernetes. */
const DECIMAL = /^\d+$/;

/** Something that has happened. */
export type ReflectorEvent =
  | { readonly kind: "start" }
  | { readonly kind: "page"; readonly page: ObjectPage }
  | { readonly kind: "put" | "delete"; readonly object: KubernetesObject }
  | { readonly kind: "bookmark"; readonly resourceVersion: string }
  /** The watch has ended without failing; `isDue`: it lasted as long as it was requested to. */
  | { readonly kind: "closed"; readonly isDue: boolean; readonly livedMs: number }
  | { readonly kind: "failed"; readonly failure: FailureKind; readonly retryAfterMs: number; readonly livedMs: number }
  | { readonly kind: "waited" };

/** The objects of one page of a list. */
export interface ListedPage {
  readonly objects: readonly KubernetesObject[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** Why a reflector waits: `forbidden` for a right, `slow` for what a person has to change otherwise. */
export type ReflectorWait = "back-off" | "forbidden" | "slow";

/** Something to do. Actions are carried out in their order. */
export type ReflectorAction =
  /** A limit of 0 asks for everything in one call. */
  | { readonly kind: "list"; readonly limit: number; readonly continueToken: string }
  | { readonly kind: "watch"; readonly resourceVersion: string }
  /** Waits grow from one to the next until `recovered`. */
  | { readonly kind: "wait"; readonly pace: ReflectorWait; readonly atLeastMs: number }
  /** All is well: the next wait is the shortest again. */
  | { readonly kind: "recovered" }
  /** The first to the last page have all objects; others have been deleted. */
  | ({ readonly kind: "take" } & ListedPage)
  | { readonly kind: "put" | "delete"; readonly object: KubernetesObject };

/** The phase of a reflector, with what that phase needs. */
export type ReflectorState = { readonly pageLimit: number } & (
  | { readonly phase: "new" }
  /** `isFirst`: no page has arrived yet. */
  | { readonly phase: "listing"; readonly isFirst: boolean }
  | { readonly phase: "watching"; readonly resourceVersion: string }
  /** For the next list. */
  | { readonly phase: "waiting" }
);

/** The next state and the actions that lead on from it. */
export interface ReflectorStep {
  readonly state: ReflectorState;
  readonly actions: readonly ReflectorAction[];
}

/** The first state of every reflector. */
export const NEW_REFLECTOR: ReflectorState = { phase: "new", pageLimit: WHOLE };

/** The next step. An event that does not belong to the phase changes nothing. */
export function stepReflector(state: ReflectorState, event: ReflectorEvent): ReflectorStep {
  switch (event.kind) {
    case "start":
      return state.phase === "new" ? startList(state.pageLimit) : stay(state);
    case "page":
      return state.phase === "listing" ? takePage(state, event.page) : stay(state);
    case "put":
    case "delete":
      if (state.phase !== "watching") return stay(state);
      return progress(state, event.object.resourceVersion, [{ kind: event.kind, object: event.object }]);
    case "bookmark":
      return state.phase === "watching" ? progress(state, event.resourceVersion, []) : stay(state);
    case "closed":
      return state.phase === "watching" ? closeWatch(state, event) : stay(state);
    case "failed":
      return fail(state, event);
    case "waited":
      return state.phase === "waiting" ? startList(state.pageLimit) : stay(state);
  }
}

/**
 * True if a watch that has reached one resource version cannot bring the other: versions of one
 * cluster only grow (KEP-5504), so that the cluster was restored from a backup.
 */
export function isVersionOlder(version: string, reached: string): boolean {
  if (!DECIMAL.test(version) || !DECIMAL.test(reached)) return false;
  return BigInt(version) < BigInt(reached);
}

type Watching = Extract<ReflectorState, { readonly phase: "watching" }>;
type Listing = Extract<ReflectorState, { readonly phase: "listing" }>;
type Closed = Extract<ReflectorEvent, { readonly kind: "closed" }>;
type Failed = Extract<ReflectorEvent, { readonly kind: "failed" }>;

function stay(state: ReflectorState): ReflectorStep {
  return { state, actions: [] };
}

function startList(pageLimit: number): ReflectorStep {
  return {
    state: { phase: "listing", pageLimit, isFirst: true },
    actions: [{ kind: "list", limit: pageLimit, continueToken: "" }],
  };
}

function startWatch(state: ReflectorState, resourceVersion: string): ReflectorStep {
  return {
    state: { phase: "watching", pageLimit: state.pageLimit, resourceVersion },
    actions: [{ kind: "watch", resourceVersion }],
  };
}

function takePage(state: Listing, { objects, continueToken, resourceVersion }: ObjectPage): ReflectorStep {
  const take = { kind: "take", objects, isFirst: state.isFirst, isLast: continueToken === "" } as const;
  if (!take.isLast) {
    const next = { kind: "list", limit: state.pageLimit, continueToken } as const;
    return { state: { ...state, isFirst: false }, actions: [take, next] };
  }
  // Not recovered yet: a list that succeeds before each watch that fails must not reset the waits.
  const { state: watching, actions } = startWatch(state, resourceVersion);
  return { state: watching, actions: [take, ...actions] };
}

/** Every event moves the resource version on, so that the next watch continues from the last one. */
function progress(state: Watching, resourceVersion: string, actions: readonly ReflectorAction[]): ReflectorStep {
  return { state: { ...state, resourceVersion }, actions };
}

/**
 * Only a watch that ended as planned is continued. Any other end may be that of a server which
 * returns with an older state: a watch from a version that it has reached again by then would miss
 * what differs, without an error. A list without a resource version shows the state that is there.
 */
function closeWatch(state: Watching, { isDue, livedMs }: Closed): ReflectorStep {
  if (!isDue) return fail(state, { failure: "unavailable", retryAfterMs: 0, livedMs });
  const step = startWatch(state, state.resourceVersion);
  return { state: step.state, actions: [{ kind: "recovered" }, ...step.actions] };
}

function fail(state: ReflectorState, { failure, retryAfterMs, livedMs }: Omit<Failed, "kind">): ReflectorStep {
  if (state.phase !== "listing" && state.phase !== "watching") return stay(state);
  const isHealthy = state.phase === "watching" && livedMs >= SHORT_WATCH_MS;
  const recovered: readonly ReflectorAction[] = isHealthy ? [{ kind: "recovered" }] : [];
  const isTooLarge = failure === "too-large" && state.phase === "listing";
  const pageLimit = isTooLarge ? smallerPage(state.pageLimit) : state.pageLimit;
  const pace = failure === "refused" ? "slow" : failure === "forbidden" ? "forbidden" : "back-off";
  return {
    state: { phase: "waiting", pageLimit },
    actions: [...recovered, { kind: "wait", pace, atLeastMs: retryAfterMs }],
  };
}

function smallerPage(limit: number): number {
  return limit === WHOLE ? PAGE_OBJECTS : Math.max(1, Math.floor(limit / PAGE_DIVISOR));
}
