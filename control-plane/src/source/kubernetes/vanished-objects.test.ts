// Tests of vanished-objects.ts: which removed objects are kept, what replaces them, and when they end.
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { storedObject, type StoredObject } from "./stored-object.ts";
import { VanishedObjects } from "./vanished-objects.ts";

interface ObjectText {
  readonly uid?: string;
  readonly domain?: unknown;
  readonly fleets?: readonly string[];
}

function object(name: string, { uid = name, domain = name, fleets }: ObjectText = {}): StoredObject {
  const metadata = { name, namespace: "team", uid, resourceVersion: "1" };
  const content = { metadata, spec: { domain, ...(fleets === undefined ? {} : { fleets }) } };
  return storedObject({ ...metadata, generation: 1, content }, undefined);
}

const [A, B, C] = [object("a"), object("b"), object("c")];

describe("VanishedObjects", () => {
  let vanished: VanishedObjects;
  let changes: number;
  let isReadable: boolean;
  const lines: string[] = [];

  function start(keepMs = 10_000): void {
    const write = (line: string): void => void lines.push((JSON.parse(line) as { "@message": string })["@message"]);
    const log = createLog({ level: "info", format: "json", write });
    const changed = (): void => void (changes += 1);
    vanished = new VanishedObjects({ log, clock: Date.now, isReadable: () => isReadable, changed }, keepMs);
  }

  function kept(): readonly string[] {
    return vanished.list().map(({ key }) => key);
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
    changes = 0;
    isReadable = true;
    lines.length = 0;
    start();
  });

  afterEach(() => {
    vanished.stop();
    vi.useRealTimers();
  });

  it("keeps nothing that is removed while the definition is there", () => {
    vanished.removed([A]);
    vi.advanceTimersByTime(60_000);
    expect([kept(), vi.getTimerCount(), changes]).toEqual([[], 0, 0]);
  });

  it("keeps what was removed in the two seconds before the definition was gone, and nothing from before", () => {
    vanished.removed([A]);
    vi.advanceTimersByTime(1);
    vanished.removed([B]);
    vi.advanceTimersByTime(2000);
    vanished.removed([C]);
    expect([vanished.define(false), kept()]).toEqual([true, ["team/b", "team/c"]]);
    expect(vanished.define(false)).toBe(false);
  });

  it("brings nothing back when nothing was removed", () => {
    expect([vanished.define(false), kept()]).toEqual([false, []]);
  });

  it("keeps what is removed while the definition is gone, however long that takes, and ten seconds after it is back", () => {
    vanished.define(false);
    vanished.removed([A, B]);
    vi.advanceTimersByTime(3_600_000);
    expect(kept()).toEqual(["team/a", "team/b"]);
    expect(vanished.define(true)).toBe(false);
    vi.advanceTimersByTime(9999);
    expect([kept(), changes]).toEqual([["team/a", "team/b"], 0]);
    vi.advanceTimersByTime(1);
    expect([kept(), changes, lines]).toEqual([
      [],
      1,
      ["Resources that vanished with their CustomResourceDefinition are not served any more"],
    ]);
  });

  it("waits from the last change on, whether that is of a kept object or of another", () => {
    vanished.define(false);
    vanished.removed([A, B]);
    vanished.define(true);
    vi.advanceTimersByTime(9000);
    vanished.appeared([A]);
    vi.advanceTimersByTime(9000);
    vanished.removed([C]);
    vi.advanceTimersByTime(9999);
    expect(kept()).toEqual(["team/b"]);
    vi.advanceTimersByTime(1);
    expect(kept()).toEqual([]);
  });

  it("does not end the wait while the definition is gone again", () => {
    vanished.define(false);
    vanished.removed([A]);
    vanished.define(true);
    vi.advanceTimersByTime(5000);
    vanished.define(false);
    vi.advanceTimersByTime(60_000);
    vanished.define(true);
    vi.advanceTimersByTime(9999);
    expect(kept()).toEqual(["team/a"]);
  });

  it("does not count time in which the source cannot be read", () => {
    vanished.define(false);
    vanished.removed([A]);
    vanished.define(true);
    vi.advanceTimersByTime(5000);
    isReadable = false;
    vi.advanceTimersByTime(60_000);
    isReadable = true;
    vi.advanceTimersByTime(4999);
    expect(kept()).toEqual(["team/a"]);
    vi.advanceTimersByTime(1);
    expect(kept()).toEqual([]);
  });

  it("keeps nothing after the definition is back when it should keep it for no time", () => {
    start(0);
    vanished.define(false);
    vanished.removed([A]);
    vanished.define(true);
    vi.advanceTimersByTime(0);
    expect([kept(), changes]).toEqual([[], 1]);
  });

  it.each<{ what: string; old: StoredObject; appears: StoredObject; isKept: boolean }>([
    { what: "it is created again", old: A, appears: object("a", { uid: "2", domain: "new" }), isKept: false },
    { what: "another one claims its domain", old: A, appears: object("x", { domain: "a" }), isKept: false },
    { what: "another one claims another domain", old: A, appears: object("x"), isKept: true },
    { what: "an invalid one appears", old: A, appears: object("x", { domain: 5 }), isKept: true },
    {
      what: "another one claims its domain in another fleet",
      old: object("a", { fleets: ["one", "two"] }),
      appears: object("x", { domain: "a", fleets: ["three"] }),
      isKept: true,
    },
    {
      what: "another one claims its domain in one of its fleets",
      old: object("a", { fleets: ["one", "two"] }),
      appears: object("x", { domain: "a", fleets: ["three", "two"] }),
      isKept: false,
    },
    {
      what: "another one claims its domain in every fleet",
      old: object("a", { fleets: ["one"] }),
      appears: object("x", { domain: "a" }),
      isKept: false,
    },
    { what: "it was invalid and is so again", old: object("a", { domain: 5 }), appears: B, isKept: true },
  ])("keeps a vanished object when $what: $isKept", ({ old, appears, isKept }) => {
    for (const isBack of [true, false]) {
      start();
      vanished.define(false);
      vanished.removed([old]);
      if (isBack) vanished.define(true);
      vanished.appeared([appears]);
      expect(kept()).toEqual(isKept ? ["team/a"] : []);
    }
    // The same for what was removed shortly before.
    start();
    vanished.removed([old]);
    vanished.appeared([appears]);
    vanished.define(false);
    expect(kept()).toEqual(isKept ? ["team/a"] : []);
  });

  it("keeps the owner of a domain and the one that waits for it when both were removed", () => {
    const waiting = object("x", { domain: "a" });
    vanished.removed([A]);
    vanished.removed([waiting]);
    vanished.define(false);
    expect(kept()).toEqual(["team/a", "team/x"]);
  });
});
