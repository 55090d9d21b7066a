// Tests of reflector.ts: sequences of events, and word for word what is to be done after each.
import { describe, expect, it } from "vitest";

import type { KubernetesObject } from "../client/kubernetes-object.ts";
import {
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
const CALM = { kind: "calm" } as const;
const START = { kind: "start" } as const;
const WAITED = { kind: "waited" } as const;
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
  [ONE_PAGE, [{ kind: "replace", objects: [A] }, watchFrom("20")]],
];

describe("stepReflector()", () => {
  it("lists page by page, takes over the whole at the end and watches from the version of the last page", () => {
    play(
      [START, [LIST]],
      [
        { kind: "page", page: { objects: [A], resourceVersion: "20", continueToken: "more" } },
        [{ kind: "list", limit: 0, continueToken: "more" }],
      ],
      [
        { kind: "page", page: { objects: [B], resourceVersion: "20", continueToken: "" } },
        [{ kind: "replace", objects: [A, B] }, watchFrom("20")],
      ],
    );
  });

  it("begins the list again, and takes nothing over, when a page of it has expired", () => {
    play(
      [START, [LIST]],
      [
        { kind: "page", page: { objects: [A], resourceVersion: "20", continueToken: "more" } },
        [{ kind: "list", limit: 0, continueToken: "more" }],
      ],
      [failed("expired"), [BACK_OFF]],
      [WAITED, [LIST]],
      [
        { kind: "page", page: { objects: [B], resourceVersion: "30", continueToken: "" } },
        [{ kind: "replace", objects: [B] }, watchFrom("30")],
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
      [ONE_PAGE, [{ kind: "replace", objects: [A] }, watchFrom("20")]],
      [failed("expired"), [BACK_OFF]],
      [WAITED, [{ ...LIST, limit: 1 }]],
    );
  });

  it("watches on from the last event or bookmark when the watch has ended", () => {
    play(
      ...WATCHING,
      [
        { kind: "put", object: { ...A, resourceVersion: "21" } },
        [{ kind: "put", object: { ...A, resourceVersion: "21" } }, CALM],
      ],
      [
        { kind: "delete", object: { ...A, resourceVersion: "22" } },
        [{ kind: "delete", object: { ...A, resourceVersion: "22" } }],
      ],
      [{ kind: "bookmark", resourceVersion: "40" }, []],
      [{ kind: "closed", livedMs: 300_000 }, [CALM, watchFrom("40")]],
      [{ kind: "closed", livedMs: 300_000 }, [CALM, watchFrom("40")]],
    );
  });

  it("waits when a watch ends immediately, also when it had events", () => {
    play(
      ...WATCHING,
      [{ kind: "closed", livedMs: 10 }, [BACK_OFF]],
      [WAITED, [watchFrom("20")]],
      [{ kind: "bookmark", resourceVersion: "21" }, [CALM]],
      [{ kind: "closed", livedMs: 10 }, [BACK_OFF]],
      [WAITED, [watchFrom("21")]],
      [{ kind: "closed", livedMs: 5000 }, [CALM, watchFrom("21")]],
    );
  });

  it("continues the watch from its version when the connection is cut, as late as the server asks", () => {
    play(
      ...WATCHING,
      [{ kind: "bookmark", resourceVersion: "21" }, [CALM]],
      [failed("unreachable", { livedMs: 100 }), [BACK_OFF]],
      [WAITED, [watchFrom("21")]],
      [failed("unavailable", { retryAfterMs: 7000 }), [{ ...BACK_OFF, atLeastMs: 7000 }]],
      [WAITED, [watchFrom("21")]],
    );
  });

  it("begins the back-off anew when a quiet watch had lived before it was cut", () => {
    play(...WATCHING, [failed("unreachable", { livedMs: 60_000 }), [CALM, BACK_OFF]], [WAITED, [watchFrom("20")]]);
  });

  it("takes a watch for healthy when it ended after five seconds, and not before", () => {
    play(...WATCHING, [{ kind: "closed", livedMs: 4999 }, [BACK_OFF]], [WAITED, [watchFrom("20")]]);
    play(...WATCHING, [{ kind: "closed", livedMs: 5000 }, [CALM, watchFrom("20")]]);
  });

  it("does not begin the back-off anew when lists succeed and watches fail", () => {
    play(
      ...WATCHING,
      [failed("broken", { livedMs: 5 }), [BACK_OFF]],
      [WAITED, [LIST]],
      [ONE_PAGE, [{ kind: "replace", objects: [A] }, watchFrom("20")]],
      [failed("broken", { livedMs: 5 }), [BACK_OFF]],
    );
  });

  it.each(["expired", "unauthorized", "broken", "too-large"] as const)(
    "lists again when a watch fails as %s",
    (failure) => {
      play(...WATCHING, [failed(failure), [BACK_OFF]], [WAITED, [LIST]]);
    },
  );

  it("lists again, slowly, when a person must change something first", () => {
    play(...WATCHING, [failed("refused"), [SLOW]], [WAITED, [LIST]], [failed("refused"), [SLOW]], [WAITED, [LIST]]);
  });

  it.each(["unreachable", "unavailable"] as const)(
    "lists again when four watches in a row have failed as %s",
    (failure) => {
      const attempts = Array.from({ length: 3 }, () => [
        [failed(failure), [BACK_OFF]] as const,
        [WAITED, [watchFrom("20")]] as const,
      ]).flat();
      play(
        ...WATCHING,
        ...attempts,
        [failed(failure), [BACK_OFF]],
        [WAITED, [LIST]],
        [failed(failure), [BACK_OFF]],
        [WAITED, [LIST]],
      );
    },
  );

  it.each<{ how: string; ends: ReflectorEvent; then: readonly ReflectorAction[] }>([
    { how: "ended after a long silence", ends: { kind: "closed", livedMs: 100_000 }, then: [CALM] },
    { how: "been cut after a long silence", ends: failed("unreachable", { livedMs: 60_000 }), then: [CALM, BACK_OFF] },
  ])(
    "lists again when four watches in a row that brought nothing have $how, and not when one of them brought something",
    ({ ends, then }) => {
      const waits = then.includes(BACK_OFF);
      const end = (next: ReflectorAction): readonly (readonly [ReflectorEvent, readonly ReflectorAction[]])[] =>
        waits
          ? [
              [ends, then],
              [WAITED, [next]],
            ]
          : [[ends, [...then, next]]];
      const bookmark = [{ kind: "bookmark", resourceVersion: "20" }, [CALM]] as const;
      const again = end(watchFrom("20"));
      play(...WATCHING, ...again, ...again, ...again, bookmark, ...again, ...again, ...again, ...again, ...end(LIST), [
        ONE_PAGE,
        [{ kind: "replace", objects: [A] }, watchFrom("20")],
      ]);
    },
  );

  it("changes nothing when an event does not belong to the phase", () => {
    const watching = play(...WATCHING);
    for (const event of [START, WAITED, ONE_PAGE])
      expect(stepReflector(watching, event)).toEqual({ state: watching, actions: [] });
    const waiting = stepReflector(watching, failed("unavailable")).state;
    const late: readonly ReflectorEvent[] = [
      { kind: "put", object: A },
      { kind: "delete", object: A },
      { kind: "bookmark", resourceVersion: "99" },
      { kind: "closed", livedMs: 1 },
      failed("broken"),
    ];
    for (const event of late) expect(stepReflector(waiting, event)).toEqual({ state: waiting, actions: [] });
  });
});
