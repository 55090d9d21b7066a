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
 * A watch that ends sooner is not healthy, whatever events it had, in milliseconds: the next one must
 * wait, or they would follow each other in a tight loop.
 */
export const SHORT_WATCH_MS = 5000;

/**
 * After so many watches in a row without an event, however they ended, the resource version is in
 * doubt: a server that was restored from a backup sends nothing to a watch from a version that it
 * has not reached again.
 */
const WATCH_ATTEMPTS_MAX = 4;

/** Something that has happened. */
export type ReflectorEvent =
  | { readonly kind: "start" }
  | { readonly kind: "page"; readonly page: ObjectPage }
  | { readonly kind: "put" | "delete"; readonly object: KubernetesObject }
  | { readonly kind: "bookmark"; readonly resourceVersion: string }
  /** The watch has ended without failing. */
  | { readonly kind: "closed"; readonly livedMs: number }
  | { readonly kind: "failed"; readonly failure: FailureKind; readonly retryAfterMs: number; readonly livedMs: number }
  | { readonly kind: "waited" };

/** Something to do. Actions are carried out in their order. */
export type ReflectorAction =
  /** A limit of 0 asks for everything in one call. */
  | { readonly kind: "list"; readonly limit: number; readonly continueToken: string }
  | { readonly kind: "watch"; readonly resourceVersion: string }
  /**
   * Waits grow from one to the next until `calm`; `slow` ones longer, for what a person has to
   * change.
   */
  | { readonly kind: "wait"; readonly pace: "back-off" | "slow"; readonly atLeastMs: number }
  /** All is well: the next wait is the shortest again. */
  | { readonly kind: "calm" }
  /** These are all objects; others have been deleted. */
  | { readonly kind: "replace"; readonly objects: readonly KubernetesObject[] }
  | { readonly kind: "put" | "delete"; readonly object: KubernetesObject };

/** The next request after a wait. */
type Intent =
  { readonly kind: "list" } | { readonly kind: "watch"; readonly resourceVersion: string; readonly attempts: number };

const LIST: Intent = { kind: "list" };

/** The phase of a reflector, with what that phase needs. */
export type ReflectorState = { readonly pageLimit: number } & (
  | { readonly phase: "new" }
  | { readonly phase: "listing"; readonly objects: readonly KubernetesObject[] }
  | {
      readonly phase: "watching";
      readonly resourceVersion: string;
      /** Watches in a row without an event, this one included. */
      readonly attempts: number;
    }
  | { readonly phase: "waiting"; readonly next: Intent }
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
      return state.phase === "watching" ? closeWatch(state, event.livedMs) : stay(state);
    case "failed":
      return fail(state, event);
    case "waited":
      if (state.phase !== "waiting") return stay(state);
      return resume(state, state.next);
  }
}

type Watching = Extract<ReflectorState, { readonly phase: "watching" }>;
type Listing = Extract<ReflectorState, { readonly phase: "listing" }>;
type Failed = Extract<ReflectorEvent, { readonly kind: "failed" }>;

function stay(state: ReflectorState): ReflectorStep {
  return { state, actions: [] };
}

function startList(pageLimit: number): ReflectorStep {
  return {
    state: { phase: "listing", pageLimit, objects: [] },
    actions: [{ kind: "list", limit: pageLimit, continueToken: "" }],
  };
}

function startWatch(state: ReflectorState, from: Omit<Watching, "phase" | "pageLimit">): ReflectorStep {
  const { resourceVersion, attempts } = from;
  return {
    state: { phase: "watching", pageLimit: state.pageLimit, resourceVersion, attempts: attempts + 1 },
    actions: [{ kind: "watch", resourceVersion }],
  };
}

function resume(state: ReflectorState, next: Intent): ReflectorStep {
  return next.kind === "list" ? startList(state.pageLimit) : startWatch(state, next);
}

function takePage(state: Listing, page: ObjectPage): ReflectorStep {
  const objects = [...state.objects, ...page.objects];
  if (page.continueToken !== "") {
    const next = { kind: "list", limit: state.pageLimit, continueToken: page.continueToken } as const;
    return { state: { ...state, objects }, actions: [next] };
  }
  // Not calm yet: a list that succeeds before each watch that fails must not reset the waits.
  const { state: watching, actions } = startWatch(state, { resourceVersion: page.resourceVersion, attempts: 0 });
  return { state: watching, actions: [{ kind: "replace", objects }, ...actions] };
}

/** Every event moves the resource version on, so that a new watch continues from the last one. */
function progress(state: Watching, resourceVersion: string, actions: readonly ReflectorAction[]): ReflectorStep {
  const calm = state.attempts === 0 ? [] : [{ kind: "calm" } as const];
  return { state: { ...state, resourceVersion, attempts: 0 }, actions: [...actions, ...calm] };
}

function closeWatch(state: Watching, livedMs: number): ReflectorStep {
  if (livedMs < SHORT_WATCH_MS) return wait(state, retryWatch(state), { pace: "back-off", atLeastMs: 0 });
  const step = resume(state, retryWatch(state));
  return { state: step.state, actions: [{ kind: "calm" }, ...step.actions] };
}

function fail(state: ReflectorState, { failure, retryAfterMs, livedMs }: Failed): ReflectorStep {
  if (state.phase !== "listing" && state.phase !== "watching") return stay(state);
  const isHealthy = state.phase === "watching" && livedMs >= SHORT_WATCH_MS;
  const calm: readonly ReflectorAction[] = isHealthy ? [{ kind: "calm" }] : [];
  const step = waitAfter(state, failure, retryAfterMs);
  return { state: step.state, actions: [...calm, ...step.actions] };
}

function waitAfter(state: Watching | Listing, failure: FailureKind, atLeastMs: number): ReflectorStep {
  switch (failure) {
    case "unreachable":
    case "unavailable":
      return wait(state, state.phase === "watching" ? retryWatch(state) : LIST, { pace: "back-off", atLeastMs });
    case "refused":
      return wait(state, LIST, { pace: "slow", atLeastMs });
    case "too-large": {
      const pageLimit = state.phase === "listing" ? smallerPage(state.pageLimit) : state.pageLimit;
      return wait({ ...state, pageLimit }, LIST, { pace: "back-off", atLeastMs });
    }
    case "expired":
    case "unauthorized":
    case "broken":
      return wait(state, LIST, { pace: "back-off", atLeastMs });
  }
}

function smallerPage(limit: number): number {
  return limit === WHOLE ? PAGE_OBJECTS : Math.max(1, Math.floor(limit / PAGE_DIVISOR));
}

function retryWatch({ resourceVersion, attempts }: Watching): Intent {
  return attempts < WATCH_ATTEMPTS_MAX ? { kind: "watch", resourceVersion, attempts } : LIST;
}

function wait(
  state: ReflectorState,
  next: Intent,
  how: { readonly pace: "back-off" | "slow"; readonly atLeastMs: number },
): ReflectorStep {
  return { state: { phase: "waiting", pageLimit: state.pageLimit, next }, actions: [{ kind: "wait", ...how }] };
}
