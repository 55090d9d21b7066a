// What counts as a difference between the committed code and the fresh one.
import { describe, expect, it } from "vitest";
import { compareGenerated } from "./check-protobuf.ts";

describe("compareGenerated()", () => {
  it("finds nothing when both are the same", () => {
    expect(compareGenerated(new Map([["a_pb.ts", "x"]]), new Map([["a_pb.ts", "x"]]))).toEqual([]);
  });

  it.each([
    { committed: { "a_pb.ts": "old" }, fresh: { "a_pb.ts": "new" }, state: "is not what its .proto file gives" },
    { committed: {}, fresh: { "a_pb.ts": "new" }, state: "is missing" },
    { committed: { "a_pb.ts": "old" }, fresh: {}, state: "is no longer generated" },
  ])("says that a file $state when it is so", ({ committed, fresh, state }) => {
    expect(compareGenerated(new Map(Object.entries(committed)), new Map(Object.entries(fresh)))).toEqual([
      { file: "proto/src/generated/a_pb.ts", rule: "generated", message: `The file ${state}: run make generate` },
    ]);
  });
});
