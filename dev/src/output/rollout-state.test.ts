import { describe, expect, it } from "vitest";
import type { RolloutState } from "./rollout-state.ts";
import { describeChanges, readRolloutState } from "./rollout-state.ts";

const TROUBLE = {
  file: "limits/login.yaml",
  place: "limits/login.yaml:12:9",
  field: "spec.descriptors[0].rateLimit.unit",
  message: "must be one of second, minute",
  keepsOld: true,
};
const POD = { id: "default/ratelimit-1", accepted: "aaaaaaaaaaaaaaaa", resources: 5, rejected: undefined };

function state(changes: Partial<RolloutState>): RolloutState {
  return { isReadable: true, troubles: [], pods: [], ...changes };
}

describe("describeChanges()", () => {
  it("says nothing when nothing changed", () => {
    const same = state({ troubles: [TROUBLE], pods: [POD] });
    expect(describeChanges(same, same)).toEqual([]);
  });

  it("names the version that a pod accepted when it accepted the first or another one", () => {
    const remarks = [{ subject: "rate limit", text: "accepted version aaaaaaaaaaaa (5 manifests)" }];
    expect(describeChanges(undefined, state({ pods: [POD] }))).toEqual(remarks);
    expect(describeChanges(state({ pods: [{ ...POD, accepted: undefined }] }), state({ pods: [POD] }))).toEqual(
      remarks,
    );
    expect(describeChanges(state({ pods: [{ ...POD, accepted: "b" }] }), state({ pods: [POD] }))).toEqual(remarks);
  });

  it("names the version that a pod rejected, and the reason", () => {
    const rejected = { version: "cccccccccccccccc", message: "domain: descriptor has empty key" };
    expect(describeChanges(state({ pods: [POD] }), state({ pods: [{ ...POD, rejected }] }))).toEqual([
      { subject: "rate limit", text: "rejected version cccccccccccc: domain: descriptor has empty key" },
    ]);
  });

  it("names file, line, field and message of an error, once, and that the old limits stay", () => {
    expect(describeChanges(state({}), state({ troubles: [TROUBLE] }))).toEqual([
      {
        subject: "control plane",
        text: "limits/login.yaml:12:9: spec.descriptors[0].rateLimit.unit: must be one of second, minute\nthe old limits of this manifest stay active",
      },
    ]);
  });

  it("prints no field when the file as a whole is wrong, and says that its limits are not active", () => {
    const trouble = { file: "a.yaml", place: "a.yaml:3:1", field: "", message: "no YAML", keepsOld: false };
    expect(describeChanges(state({}), state({ troubles: [trouble] }))).toEqual([
      { subject: "control plane", text: "a.yaml:3:1: no YAML\nnone of the limits in it are active" },
    ]);
  });

  it("prints the effect of several errors of one file once", () => {
    const troubles = [
      { file: "a.yaml", place: "a.yaml:1:13", field: "apiVersion", message: "must be one", keepsOld: false },
      { file: "a.yaml", place: "a.yaml:2:7", field: "kind", message: "must be another", keepsOld: false },
      { file: "a.yaml", place: "a.yaml:30:7", field: "spec", message: "is required", keepsOld: true },
      { file: "b.yaml", place: "b.yaml:1:1", field: "", message: "is empty", keepsOld: true },
    ];
    const kept = "the old limits of this manifest stay active";
    expect(describeChanges(state({}), state({ troubles }))).toEqual([
      {
        subject: "control plane",
        text: "a.yaml:1:13: apiVersion: must be one\na.yaml:2:7: kind: must be another\nnone of the limits in it are active",
      },
      { subject: "control plane", text: `a.yaml:30:7: spec: is required\n${kept}` },
      { subject: "control plane", text: `b.yaml:1:1: is empty\n${kept}` },
    ]);
  });

  it("says so when the manifests can be read again", () => {
    expect(describeChanges(state({}), state({ isReadable: false }))).toEqual([]);
    expect(describeChanges(state({ isReadable: false }), state({}))).toEqual([
      { subject: "control plane", text: "the manifests can be read again" },
    ]);
  });

  it("says so when all is good again", () => {
    expect(describeChanges(state({ troubles: [TROUBLE] }), state({}))).toEqual([
      { subject: "control plane", text: "every manifest is good again" },
    ]);
  });
});

describe("readRolloutState()", () => {
  it("reads what the terminal shows", () => {
    const version = "1f2e3d";
    const rollout = {
      replica: "r",
      source: { location: "limits", syncedAt: "t" },
      fleets: [
        { name: "*", version, resources: 5 },
        { name: "edge", version: "other", resources: 7 },
      ],
      unreadable: [{ location: "a.yaml:3:7", message: "no YAML", servesLastGood: true }],
      resources: [
        { state: "RESOURCE_STATE_SERVED" },
        {
          state: "RESOURCE_STATE_QUARANTINED",
          servesLastGood: true,
          problems: [{ location: "b.yaml:1", message: "pods rejected it" }],
        },
        {
          state: "RESOURCE_STATE_REFUSED",
          problems: [{ location: "c.yaml:3:7", field: "spec.domain", message: "required" }],
        },
      ],
      pods: [
        { nodeId: "default/one", fleet: "default", accepted: { version, at: "t" } },
        {
          nodeId: "edge/two",
          fleet: "edge",
          accepted: { version, at: "t" },
          rejected: { version: "other", at: "t" },
          rejection: "no",
        },
        { nodeId: "default/three", fleet: "default" },
      ],
    };
    expect(readRolloutState({ ...rollout, source: { ...rollout.source, error: "gone" } }).isReadable).toBe(false);
    expect(readRolloutState(rollout)).toEqual({
      isReadable: true,
      troubles: [
        { file: "a.yaml", place: "a.yaml:3:7", field: "", message: "no YAML", keepsOld: true },
        { file: "b.yaml", place: "b.yaml:1", field: "", message: "pods rejected it", keepsOld: true },
        { file: "c.yaml", place: "c.yaml:3:7", field: "spec.domain", message: "required", keepsOld: false },
      ],
      pods: [
        { id: "default/one", accepted: version, resources: 5, rejected: undefined },
        { id: "edge/two", accepted: version, resources: undefined, rejected: { version: "other", message: "no" } },
        { id: "default/three", accepted: undefined, resources: undefined, rejected: undefined },
      ],
    });
  });
});
