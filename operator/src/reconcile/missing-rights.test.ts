// Tests of missing-rights.ts: which object asks for a right, and when the others are tried.
import { beforeEach, describe, expect, it } from "vitest";

import { MissingRights } from "./missing-rights.ts";

const keyOf = (name: string) => ({ namespace: "team", name });
const [A, B, C] = [keyOf("a"), keyOf("b"), keyOf("c")];

describe("MissingRights", () => {
  let rights: MissingRights;

  beforeEach(() => {
    rights = new MissingRights();
  });

  it("lets one object ask for a right that several lack", () => {
    expect([A, B, C, B, A].map((key) => rights.note(key, "patch").isAsking)).toEqual([true, false, false, false, true]);
  });

  it("releases the others when one has the right, whichever it is", () => {
    for (const key of [A, B, C]) rights.note(key, "patch");
    expect(rights.note(B, undefined)).toEqual({ isAsking: false, released: [A, C] });
    expect(rights.note(A, undefined)).toEqual({ isAsking: false, released: [] });
  });

  it("releases those that lack the first right when the object lacks another one", () => {
    for (const key of [A, B]) rights.note(key, "patch");
    rights.note(C, "create");
    expect(rights.note(A, "create")).toEqual({ isAsking: false, released: [B] });
    expect(rights.note(B, "create").released).toEqual([]);
  });

  it("clear() forgets what objects lack", () => {
    rights.note(A, "patch");
    rights.clear();
    expect(rights.note(B, "patch")).toEqual({ isAsking: true, released: [] });
  });
});
