// Tests of form-history.ts: which earlier forms are kept, and in which order.
import { describe, expect, it } from "vitest";

import type { Form } from "./form.ts";
import { FormHistory } from "./form-history.ts";
import { contentsOf, formOf } from "./forms.suite.ts";

const NOTHING_LOADED = (): boolean => false;
const ALL_LOADED = (): boolean => true;
const NONE_HANDED_OVER = new Map<string, Form>();

/** A history after these contents of one resource were published one after the other. */
function historyOf(contents: readonly number[], isLoaded = NOTHING_LOADED, handedOver?: Form): FormHistory {
  const history = new FormHistory();
  const last = handedOver === undefined ? NONE_HANDED_OVER : new Map([["default/a", handedOver]]);
  for (const content of contents) history.update([formOf({ name: "a", content })], last, isLoaded);
  return history;
}

describe("FormHistory", () => {
  it.each([
    { when: "one form was published", contents: [1], kept: ["1"] },
    { when: "two were", contents: [1, 2], kept: ["2", "1"] },
    { when: "three were, and no pod loaded the first", contents: [1, 2, 3], kept: ["3", "2"] },
    { when: "the content did not change", contents: [1, 2, 2], kept: ["2", "1"] },
    { when: "the content changed and changed back", contents: [1, 2, 1], kept: ["1", "2"] },
  ])("keeps the published form and the one before when $when", ({ contents, kept }) => {
    expect(contentsOf(historyOf(contents).formsOf("default/a"))).toEqual(kept.map((content) => `default/a=${content}`));
  });

  it("keeps four more that connected pods have loaded, the newest", () => {
    const forms = historyOf([1, 2, 3, 4, 5, 6, 7, 8], ALL_LOADED).formsOf("default/a");
    expect(contentsOf(forms)).toEqual([8, 7, 6, 5, 4, 3].map((content) => `default/a=${content}`));
  });

  it("keeps a form that pods had loaded over later ones that no pod loads", () => {
    const history = historyOf([1, 2, 3], ({ digest }) => digest === formOf({ name: "a", content: 1 }).digest);
    for (const content of [4, 5]) history.update([formOf({ name: "a", content })], NONE_HANDED_OVER, NOTHING_LOADED);
    expect(contentsOf(history.formsOf("default/a"))).toEqual(["default/a=5", "default/a=4", "default/a=1"]);
  });

  it("has the form that the source handed over as the oldest", () => {
    const handedOver = formOf({ name: "a", content: 9, sequence: 0 });
    const forms = historyOf([1, 2, 3], ALL_LOADED, handedOver).formsOf("default/a");
    expect(contentsOf(forms)).toEqual([3, 2, 1, 9].map((content) => `default/a=${content}`));
  });

  it("keeps nothing of a resource of another identity, or that is gone", () => {
    const history = historyOf([1, 2]);
    history.update([formOf({ name: "a", content: 3, identity: "two" })], NONE_HANDED_OVER, ALL_LOADED);
    expect(contentsOf(history.formsOf("default/a"))).toEqual(["default/a=3"]);
    history.update([], NONE_HANDED_OVER, ALL_LOADED);
    expect(history.formsOf("default/a")).toEqual([]);
    expect(history.formsOf("default/unknown")).toEqual([]);
  });
});
