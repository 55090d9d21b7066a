import { describe, expect, it } from "vitest";
import type { RolloutState } from "./rollout-state.ts";
import { describeChanges } from "./rollout-state.ts";

const TROUBLE = { place: "limits/login.yaml:12:9", field: "spec.descriptors[0].rateLimit.unit", message: "must be one of second, minute" };
const POD = { id: "default/ratelimit-1", accepted: "aaaaaaaaaaaaaaaa", rejected: undefined };

function state(changes: Partial<RolloutState>): RolloutState {
  return { troubles: [], pods: [], ...changes };
}

describe("describeChanges()", () => {
  it("says nothing when nothing changed", () => {
    const same = state({ troubles: [TROUBLE], pods: [POD] });
    expect(describeChanges(same, same)).toEqual([]);
  });

  it("tells which version a pod accepted when it accepted the first or another one", () => {
    const remarks = [{ speaker: "rate limit", text: "accepted version aaaaaaaaaaaa" }];
    expect(describeChanges(undefined, state({ pods: [POD] }))).toEqual(remarks);
    expect(describeChanges(state({ pods: [{ ...POD, accepted: undefined }] }), state({ pods: [POD] }))).toEqual(remarks);
    expect(describeChanges(state({ pods: [{ ...POD, accepted: "b" }] }), state({ pods: [POD] }))).toEqual(remarks);
  });

  it("tells what a pod rejected and why", () => {
    const rejected = { version: "cccccccccccccccc", message: "domain: descriptor has empty key" };
    expect(describeChanges(state({ pods: [POD] }), state({ pods: [{ ...POD, rejected }] }))).toEqual([
      { speaker: "rate limit", text: "rejected version cccccccccccc: domain: descriptor has empty key" },
    ]);
  });

  it("tells file, line, field and message of a mistake, once, and that the old limits stay", () => {
    expect(describeChanges(state({}), state({ troubles: [TROUBLE] }))).toEqual([
      { speaker: "control plane", text: "limits/login.yaml:12:9: spec.descriptors[0].rateLimit.unit: must be one of second, minute" },
      { speaker: "control plane", text: "the old limits of this manifest stay in force" },
    ]);
  });

  it("leaves the field out when the file as a whole is wrong", () => {
    const [first] = describeChanges(state({}), state({ troubles: [{ place: "a.yaml:3:1", field: "", message: "no YAML" }] }));
    expect(first?.text).toBe("a.yaml:3:1: no YAML");
  });

  it("says so when all is good again", () => {
    expect(describeChanges(state({ troubles: [TROUBLE] }), state({}))).toEqual([
      { speaker: "control plane", text: "every manifest is good again" },
    ]);
  });
});
