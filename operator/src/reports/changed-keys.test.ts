// Tests of changed-keys.ts: every field that is merged is compared, and nothing is merged that is the same.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { RolloutSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { describe, expect, it, vi } from "vitest";

import { changedKeys } from "./changed-keys.ts";
import { type ComparableReports, mergeReports, type ReplicaReport } from "./merge-reports.ts";

type RolloutInit = Exclude<MessageInitShape<typeof RolloutSchema>, { $typeName: string }>;
type ResourceInit = Exclude<NonNullable<RolloutInit["resources"]>[number], { $typeName: string }>;

const FLEET = { name: "*", digest: "d1", acceptedGroups: [1], rejections: [{ group: 2, message: "no" }] };
const PROBLEM = { field: "spec.domain", message: "is empty", reason: "InvalidSpec" };
const MAIL: ResourceInit = {
  namespace: "shop",
  name: "mail",
  uid: "u1",
  observedGeneration: 4n,
  problems: [PROBLEM],
  fleetStates: [FLEET],
};
const CHAT: ResourceInit = { ...MAIL, name: "chat", fleetStates: [{ name: "*", digest: "d1", pendingGroups: [3] }] };
const PODS = [1, 2, 3].map((group) => ({ namespace: "web", pod: `pod-${group}`, group }));

function replica(name: string, rollout: RolloutInit): ReplicaReport {
  const message = create(RolloutSchema, { replica: name, instance: name, pods: PODS, ...rollout });
  return { name, state: "answers", rollout: message };
}

/** The fields that differ from the usual in a report that leaves out fleets. */
interface Settled {
  readonly pods?: NonNullable<RolloutInit["pods"]>;
  readonly core?: Partial<ResourceInit>;
  readonly fleets?: readonly string[];
}

/** Two replicas, of which the second reports this. */
function reportsOf(rollout: RolloutInit): ComparableReports {
  return mergeReports([replica("cp-0", { resources: [MAIL, CHAT], pods: [] }), replica("cp-1", rollout)]);
}

describe("changedKeys()", () => {
  const before = reportsOf({ resources: [MAIL, CHAT] });

  it.each([
    { what: "another object", mail: { ...MAIL, uid: "u2" } },
    { what: "another generation", mail: { ...MAIL, observedGeneration: 5n } },
    { what: "another reason", mail: { ...MAIL, reason: "TooLarge" } },
    { what: "an earlier revision", mail: { ...MAIL, servesLastGood: true } },
    { what: "no problem", mail: { ...MAIL, problems: [] } },
    { what: "another field of a problem", mail: { ...MAIL, problems: [{ ...PROBLEM, field: "spec" }] } },
    { what: "another message of a problem", mail: { ...MAIL, problems: [{ ...PROBLEM, message: "" }] } },
    { what: "a problem that is a NACK", mail: { ...MAIL, problems: [{ ...PROBLEM, reason: "RejectedByDataPlane" }] } },
    { what: "no fleet", mail: { ...MAIL, fleetStates: [] } },
    { what: "another fleet", mail: { ...MAIL, fleetStates: [{ ...FLEET, name: "edge" }] } },
    { what: "another revision", mail: { ...MAIL, fleetStates: [{ ...FLEET, digest: "d2" }] } },
    { what: "an ACK", mail: { ...MAIL, fleetStates: [{ ...FLEET, acceptedGroups: [1, 3] }] } },
    { what: "a pod that has not answered", mail: { ...MAIL, fleetStates: [{ ...FLEET, pendingGroups: [3] }] } },
    {
      what: "the NACK of another pod",
      mail: { ...MAIL, fleetStates: [{ ...FLEET, rejections: [{ group: 3, message: "no" }] }] },
    },
    {
      what: "another NACK",
      mail: { ...MAIL, fleetStates: [{ ...FLEET, rejections: [{ group: 2, message: "never" }] }] },
    },
  ])("names the resource with $what", ({ mail }) => {
    expect(changedKeys(before, reportsOf({ resources: [mail, CHAT] }))).toEqual(new Set(["shop/mail"]));
  });

  it.each([
    { what: "is gone", resources: [CHAT] },
    { what: "has another pod in a group of it", pods: [...PODS, { namespace: "web", pod: "pod-4", group: 2 }] },
    { what: "has no pod in a group of it", pods: PODS.slice(1) },
  ])("names a resource that $what", ({ what: _what, ...rollout }) => {
    const after = reportsOf({ resources: [MAIL, CHAT], ...rollout });
    expect(changedKeys(before, after)).toEqual(new Set(["shop/mail"]));
    expect(changedKeys(after, before)).toEqual(new Set(["shop/mail"]));
  });

  it("names nothing when groups have other numbers, or a field has changed that is not merged", () => {
    const pods = PODS.map((pod) => ({ ...pod, group: pod.group + 3 }));
    const fleet = { ...FLEET, acceptedGroups: [4], rejections: [{ group: 5, message: "no" }] };
    const mail = { ...MAIL, location: "elsewhere", fleetStates: [fleet] };
    const chat = { ...CHAT, fleetStates: [{ name: "*", digest: "d1", pendingGroups: [6] }] };
    expect(changedKeys(before, reportsOf({ resources: [mail, chat], pods }))).toEqual(new Set());
  });

  describe("with reports that leave out fleets whose pods have all ACKed", () => {
    const IN_FLEETS = PODS.map((pod, index) => ({ ...pod, fleet: index < 2 ? "core" : "edge" }));
    const SETTLED = { namespace: "shop", settledDigest: "d1" };
    const CORE = { name: "core", digest: "d1" };

    function settledReports({
      pods = IN_FLEETS,
      core = {},
      fleets = ["*", "core", "edge"],
    }: Settled): ComparableReports {
      return reportsOf({
        pods,
        fleets: fleets.map((name) => ({ name })),
        resources: [
          { ...SETTLED, name: "all" },
          { ...SETTLED, name: "core", fleets: ["core"], ...core },
          { ...SETTLED, name: "edge", fleets: ["edge"] },
        ],
      });
    }

    it.each<Settled & { readonly what: string; readonly keys: readonly string[] }>([
      { what: "another pod in a fleet", pods: [...IN_FLEETS, { ...IN_FLEETS[2]!, pod: "new" }], keys: ["all", "edge"] },
      { what: "no pod in a fleet", pods: IN_FLEETS.slice(0, 2), keys: ["all", "edge"] },
      { what: "another fleet", fleets: ["*", "core", "edge", "new"], keys: ["all"] },
      { what: "another revision", core: { settledDigest: "d2" }, keys: ["core"] },
      { what: "a resource for another fleet", core: { fleets: ["edge"] }, keys: ["core"] },
      {
        what: "a pod that has not answered",
        core: { fleetStates: [{ ...CORE, pendingGroups: [1, 2] }] },
        keys: ["core"],
      },
      { what: "a fleet that is not left out", core: { fleetStates: [{ ...CORE, acceptedGroups: [1, 2] }] }, keys: [] },
      { what: "other numbers of groups", pods: IN_FLEETS.map((pod) => ({ ...pod, group: pod.group + 3 })), keys: [] },
    ])("names $keys after $what", ({ keys, ...after }) => {
      const [was, is] = [settledReports({}), settledReports(after)];
      expect(changedKeys(was, is)).toEqual(new Set(keys.map((name) => `shop/${name}`)));
      expect(changedKeys(is, was)).toEqual(new Set(keys.map((name) => `shop/${name}`)));
    });
  });

  it("serialises nothing when groups have other numbers", () => {
    const pods = PODS.map((pod) => ({ ...pod, group: pod.group + 3 }));
    const fleet = { ...FLEET, acceptedGroups: [4], rejections: [{ group: 5, message: "no" }] };
    const after = reportsOf({ resources: [{ ...MAIL, fleetStates: [fleet] }], pods });
    const stringify = vi.spyOn(JSON, "stringify");
    expect(changedKeys(reportsOf({ resources: [MAIL] }), after)).toEqual(new Set());
    expect(stringify).not.toHaveBeenCalled();
    stringify.mockRestore();
  });

  it("names the resources of a fleet of which another ready pod is not connected", () => {
    const edge = { ...CHAT, name: "edge", fleetStates: [{ ...FLEET, name: "edge" }] };
    const replicas = [replica("cp-0", { fleets: [{ name: "edge" }], resources: [MAIL, edge] })];
    const withPods = (fleet: string, ...names: readonly string[]): ComparableReports =>
      mergeReports(
        replicas,
        new Map([[fleet, { addresses: new Map(), ready: new Set(names), awaited: new Set(names) }]]),
      );
    expect(changedKeys(mergeReports(replicas), withPods("edge", "web/a"))).toEqual(new Set(["shop/edge"]));
    expect(changedKeys(withPods("edge", "web/a"), withPods("edge", "web/b"))).toEqual(new Set());
    expect(changedKeys(withPods("core", "web/a"), mergeReports(replicas))).toEqual(new Set(["shop/mail"]));
  });

  it("may be any resource when another replica answers, is silent, or is found", () => {
    const [first, second] = [replica("cp-0", {}), replica("cp-1", {})];
    const states = [[first], [first, second], [first, { ...second, state: "silent" }]] as const;
    const awaited: ReplicaReport = { name: "cp-1", state: "awaited", rollout: undefined };
    const merged = [...states, [first, awaited]].map((reports) => mergeReports(reports));
    for (const [index, each] of merged.entries())
      expect(merged.map((other) => changedKeys(each, other)?.size)).toEqual(
        merged.map((_, other) => (other === index ? 0 : undefined)),
      );
  });

  it("serialises what differs alone, of a report with thousands of resources", () => {
    const many = Array.from({ length: 2000 }, (_, index) => ({ ...MAIL, name: `mail-${index}` }));
    const edited = many.with(7, { ...MAIL, name: "mail-7", observedGeneration: 5n });
    const [large, after] = [many, edited].map((resources) => reportsOf({ resources }));
    const stringify = vi.spyOn(JSON, "stringify");
    expect(changedKeys(large!, after!)).toEqual(new Set(["shop/mail-7"]));
    expect(stringify).toHaveBeenCalledTimes(2);
    stringify.mockRestore();
  });
});
