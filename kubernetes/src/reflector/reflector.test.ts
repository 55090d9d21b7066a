// Tests of reflector.ts: sequences of events, and word for word what is to be done after each.
import { describe, expect, it } from "vitest";

import type { KubernetesObject } from "../client/kubernetes-object.ts";
import {
  isVersionOlder,
  NEW_REFLECTOR,
  type ReflectorAction,
  type ReflectorEvent,
  type ReflectorState,
  stepReflector,
} from "./reflector.ts";

const A: KubernetesObject = {
  name: "a",
  namespace: "team",
  uid: "1",
  resourceVersion: "11",
  generation: 1,
  content: {},
};
const B: KubernetesObject = {
  name: "b",
  namespace: "team",
  uid: "2",
  resourceVersion: "12",
  generation: 1,
  content: {},
};

const LIST = { kind: "list", limit: 0, continueToken: "" } as const;
const BACK_OFF = { kind: "wait", pace: "back-off", atLeastMs: 0 } as const;
const SLOW = { kind: "wait", pace: "slow", atLeastMs: 0 } as const;
const FORBIDDEN = { kind: "wait", pace: "forbidden", atLeastMs: 0 } as const;
const RECOVERED = { kind: "recovered" } as const;
const START = { kind: "start" } as const;
const WAITED = { kind: "waited" } as const;
const TAKE_A = { kind: "take", objects: [A], isFirst: true, isLast: true } as const;
const DUE = { kind: "closed", isDue: true, livedMs: 300_000 } as const;
const ONE_PAGE = { kind: "page", page: { objects: [A], resourceVersion: "20", continueToken: "" } } as const;

function watchFrom(resourceVersion: string): ReflectorAction {
  return { kind: "watch", resourceVersion };
}

function failed(
  failure: Extract<ReflectorEvent, { kind: "failed" }>["failure"],
  more: { livedMs?: number; retryAfterMs?: number } = {},
) {
  return { kind: "failed", failure, livedMs: 0, retryAfterMs: 0, ...more } as const;
}

/** Plays events, each with the actions that must follow it. */
function play(...script: readonly (readonly [ReflectorEvent, readonly ReflectorAction[]])[]): ReflectorState {
  let state = NEW_REFLECTOR;
  script.forEach(([event, expected], index) => {
    const step = stepReflector(state, event);
    expect({ index, event: event.kind, actions: step.actions }).toEqual({
      index,
      event: event.kind,
      actions: expected,
    });
    state = step.state;
  });
  return state;
}

/** Everything up to the first watch, from version 20. */
const WATCHING: readonly (readonly [ReflectorEvent, readonly ReflectorAction[]])[] = [
  [START, [LIST]],
  [ONE_PAGE, [TAKE_A, watchFrom("20")]],
];

describe("stepReflector()", () => {
  it("lists page by page, and watches from the version of the last page", () => {
    play(
      [START, [LIST]],
      [
        { kind: "page", page: { objects: [A], resourceVersion: "20", continueToken: "more" } },
        [
          { kind: "take", objects: [A], isFirst: true, isLast: false },
          { kind: "list", limit: 0, continueToken: "more" },
        ],
      ],
      [
        { kind: "page", page: { objects: [B], resourceVersion: "20", continueToken: "" } },
        [{ kind: "take", objects: [B], isFirst: false, isLast: true }, watchFrom("20")],
      ],
    );
  });

  it("begins the list again with its first page when a later one has expired", () => {
    play(
      [START, [LIST]],
      [
        { kind: "page", page: { objects: [A], resourceVersion: "20", continueToken: "more" } },
        [
          { kind: "take", objects: [A], isFirst: true, isLast: false },
          { kind: "list", limit: 0, continueToken: "more" },
        ],
      ],
      [failed("expired"), [BACK_OFF]],
      [WAITED, [LIST]],
      [
        { kind: "page", page: { objects: [B], resourceVersion: "30", continueToken: "" } },
        [{ kind: "take", objects: [B], isFirst: true, isLast: true }, watchFrom("30")],
      ],
    );
  });

  it("lists pages when the whole list was too large, smaller ones down to one object when a page was, and keeps that size", () => {
    play(
      [START, [LIST]],
      [failed("too-large"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 250 }]],
      [failed("too-large"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 62 }]],
      [failed("too-large"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 15 }]],
      [failed("too-large"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 3 }]],
      [failed("too-large"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 1 }]],
      [failed("too-large"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 1 }]],
      [ONE_PAGE, [TAKE_A, watchFrom("20")]],
      [failed("expired"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 1 }]],
    );
  });

  it("continues the watch from the last event or bookmark when it has ended as planned", () => {
    play(
      ...WATCHING,
      [
        { kind: "put", object: { ...A, resourceVersion: "21" } },
        [{ kind: "put", object: { ...A, resourceVersion: "21" } }],
      ],
      [
        { kind: "delete", object: { ...A, resourceVersion: "22" } },
        [{ kind: "delete", object: { ...A, resourceVersion: "22" } }],
      ],
      [{ kind: "bookmark", resourceVersion: "40" }, []],
      [DUE, [RECOVERED, watchFrom("40")]],
      [DUE, [RECOVERED, watchFrom("40")]],
    );
  });

  it.each<{ how: string; ends: ReflectorEvent; pace?: ReflectorAction }>([
    { how: "ended before its time", ends: { kind: "closed", isDue: false, livedMs: 10 } },
    { how: "failed as unreachable", ends: failed("unreachable") },
    { how: "failed as unavailable", ends: failed("unavailable") },
    { how: "failed as expired", ends: failed("expired") },
    { how: "failed as unauthorized", ends: failed("unauthorized") },
    { how: "failed as broken", ends: failed("broken") },
    { how: "failed as too-large", ends: failed("too-large") },
    { how: "failed as refused", ends: failed("refused"), pace: SLOW },
    { how: "failed as forbidden", ends: failed("forbidden"), pace: FORBIDDEN },
  ])("lists again when a watch $how, whatever it had brought", ({ ends, pace = BACK_OFF }) => {
    play(...WATCHING, [ends, [pace]], [WAITED, [LIST]]);
    play(...WATCHING, [{ kind: "bookmark", resourceVersion: "21" }, []], [ends, [pace]], [WAITED, [LIST]]);
  });

  it("waits with the next list as long as the server asks", () => {
    play(...WATCHING, [failed("unavailable", { retryAfterMs: 7000 }), [{ ...BACK_OFF, atLeastMs: 7000 }]]);
  });

  it("begins the back-off anew after a watch that lasted five seconds, and not after a shorter one", () => {
    play(...WATCHING, [failed("unreachable", { livedMs: 5000 }), [RECOVERED, BACK_OFF]]);
    play(...WATCHING, [failed("unreachable", { livedMs: 4999 }), [BACK_OFF]]);
    play(...WATCHING, [{ kind: "closed", isDue: false, livedMs: 5000 }, [RECOVERED, BACK_OFF]]);
    play(...WATCHING, [{ kind: "closed", isDue: false, livedMs: 4999 }, [BACK_OFF]]);
  });

  it("does not begin the back-off anew when lists succeed and watches fail", () => {
    play(
      ...WATCHING,
      [failed("broken", { livedMs: 5 }), [BACK_OFF]],
      [WAITED, [LIST]],
      [ONE_PAGE, [TAKE_A, watchFrom("20")]],
      [failed("broken", { livedMs: 5 }), [BACK_OFF]],
    );
  });

  it("lists again, slowly, while a person must change something first", () => {
    play(...WATCHING, [failed("refused"), [SLOW]], [WAITED, [LIST]], [failed("refused"), [SLOW]], [WAITED, [LIST]]);
  });

  it("changes nothing when an event does not belong to the phase", () => {
    const watching = play(...WATCHING);
    for (const event of [START, WAITED, ONE_PAGE])
      expect(stepReflector(watching, event)).toEqual({ state: watching, actions: [] });
    const waiting = stepReflector(watching, failed("unavailable")).state;
    const late: readonly ReflectorEvent[] = [
      { kind: "put", object: A },
      { kind: "delete", object: A },
      { kind: "bookmark", resourceVersion: "99" },
      DUE,
      failed("broken"),
    ];
    for (const event of late) expect(stepReflector(waiting, event)).toEqual({ state: waiting, actions: [] });
  });
});

describe("isVersionOlder()", () => {
  it.each([
    { version: "9", reached: "10", isOlder: true },
    { version: "10", reached: "9", isOlder: false },
    { version: "10", reached: "10", isOlder: false },
    { version: "18446744073709551615", reached: "18446744073709551616", isOlder: true },
    { version: "a1", reached: "b2", isOlder: false },
    { version: "1", reached: "b2", isOlder: false },
  ])("is $isOlder for $version after $reached", ({ version, reached, isOlder }) => {
    expect(isVersionOlder(version, reached)).toBe(isOlder);
  });
});
