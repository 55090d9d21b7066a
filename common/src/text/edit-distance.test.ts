import { expect, it } from "vitest";

import { editDistance } from "./edit-distance.ts";

it.each([
  { from: "domain", to: "domain", edits: 0 },
  { from: "domian", to: "domain", edits: 1 }, // A swap of neighbours.
  { from: "domains", to: "domain", edits: 1 },
  { from: "doman", to: "domain", edits: 1 },
  { from: "romain", to: "domain", edits: 1 },
  { from: "", to: "key", edits: 3 },
  { from: "kitten", to: "sitting", edits: 3 },
])("editDistance() from '$from' to '$to' is $edits", ({ from, to, edits }) => {
  expect(editDistance(from, to)).toBe(edits);
});
