import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ResourceSchema,
  ResourceState,
  type RolloutSchema,
  WatchRolloutResponseSchema,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { mergeRollouts } from "@weir/proto/rollout/merge-rollouts";
import { describe, expect, it } from "vitest";

import { byUrgency, fleetStates, resourceState, type Tone } from "./rollouts.ts";

function answer(server: string, rollout: MessageInitShape<typeof RolloutSchema>) {
  const { rollout: made } = create(WatchRolloutResponseSchema, { rollout: { ...rollout, replica: server } });
  return { server, rollout: made! };
}

describe("fleetStates()", () => {
  it("names the pods of every replica that wait or have NACKed, whose groups have the same numbers", () => {
    const resource = { namespace: "default", name: "shop" };
    const merged = mergeRollouts([
      answer("one", {
        resources: [
          {
            ...resource,
            fleetStates: [{ name: "web", acceptedGroups: [1], rejections: [{ group: 2, message: "no such unit" }] }],
          },
        ],
        pods: [
          { nodeId: "a", fleet: "web", group: 1 },
          { nodeId: "b", fleet: "web", group: 2 },
        ],
      }),
      answer("two", {
        resources: [{ ...resource, fleetStates: [{ name: "web", pendingGroups: [1] }, { name: "mail" }] }],
        pods: [{ nodeId: "c", fleet: "web", group: 1 }],
      }),
    ]);
    expect(fleetStates("default/shop", merged)).toEqual([
      { fleet: "mail", accepted: 0, troubled: [] },
      {
        fleet: "web",
        accepted: 1,
        troubled: [
          { name: "b", isRejecting: true, message: "no such unit" },
          { name: "c", isRejecting: false, message: "" },
        ],
      },
    ]);
  });
});

describe("resourceState()", () => {
  it.each([
    { of: { state: ResourceState.SERVED }, text: "served", tone: "good" },
    { of: { state: ResourceState.SERVED, reason: "DuplicateResource" }, text: "served, contested", tone: "warning" },
    { of: { state: ResourceState.SERVED, servesLastGood: true }, text: "last good revision", tone: "bad" },
    { of: { state: ResourceState.REFUSED }, text: "not served", tone: "bad" },
    { of: { state: ResourceState.QUARANTINED }, text: "NACKed", tone: "bad" },
    { of: { state: ResourceState.QUARANTINED, servesLastGood: true }, text: "NACKed, earlier revision", tone: "bad" },
    { of: {}, text: "unknown", tone: "warning" },
  ])("is $text", ({ of, text, tone }) => {
    expect(resourceState(create(ResourceSchema, of))).toEqual([text, tone]);
  });
});

describe("byUrgency()", () => {
  it("puts those in trouble first, and keeps the order of others", () => {
    const tones: readonly Tone[] = ["good", "bad", "warning", "bad"];
    const sorted = byUrgency([0, 1, 2, 3], (index) => tones[index] ?? "good");
    expect(sorted).toEqual([1, 3, 2, 0]);
  });
});
