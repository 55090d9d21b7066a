// Tests of fleet-warnings.ts.
import { describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import { fleetWarnings, podFleetsOf, podWarnings, servedFleets } from "./fleet-warnings.ts";
import { podOf, publisherOf, reportOf } from "./rollout-facts.suite.ts";
import { rolloutMessage } from "./rollout-message.ts";

describe("fleetWarnings()", () => {
  it.each([
    {
      when: "one of its fleets has no pod",
      fleets: ["cor", "edge"],
      pods: ["edge", "core", "edge"],
      expected: ["no pod of fleet cor is connected to this replica (fleets with pods: core, edge)"],
    },
    { when: "each of its fleets has pods", fleets: ["core", "edge"], pods: ["core", "edge"], expected: [] },
    { when: "it is for every fleet", fleets: [], pods: ["core"], expected: [] },
    { when: "no pod at all is connected", fleets: ["cor"], pods: [], expected: [] },
  ])("gives $expected when $when", ({ fleets, pods, expected }) => {
    expect(fleetWarnings(fleets, podFleetsOf(pods.map((fleet) => ({ fleet }))))).toEqual(expected);
  });
});

describe("podWarnings()", () => {
  it.each([
    {
      when: "every resource names other fleets",
      resources: [{ fleets: ["edge", "core"] }, { fleets: ["core"] }],
      expected: ["no valid resource names its fleet cor, so it gets none (fleets of resources: core, edge)"],
    },
    { when: "a resource names its fleet", resources: [{ fleets: ["core"] }, { fleets: ["cor"] }], expected: [] },
    { when: "a resource is for every fleet", resources: [{ fleets: ["core"] }, { fleets: undefined }], expected: [] },
    { when: "there is no resource", resources: [], expected: [] },
  ])("gives $expected for a pod of the fleet cor when $when", ({ resources, expected }) => {
    expect(podWarnings("cor", servedFleets(resources))).toEqual(expected);
  });
});

describe("the rollout report", () => {
  const publisher = publisherOf({
    "a.yaml": manifest({ name: "a", domain: "alpha", fleets: ["cor", "edge"] }),
    "b.yaml": manifest({ name: "b", domain: "beta", fleets: ["edge"] }),
    "c.yaml": manifest({ name: "c", domain: "beta", fleets: ["edge", "typo"] }),
  });
  const pods = ["core", "edge"].map((fleet) => podOf({ fleet }));

  it.each(["", "edge"])("has the warnings of resources and pods, with the filter for fleet '%s' too", (fleet) => {
    const { resources, pods: shown } = reportOf(publisher, pods, fleet === "" ? {} : { fleet });
    expect(resources.map(({ resource, warnings }) => [resource, warnings])).toEqual([
      ["default/a", ["no pod of fleet cor is connected to this replica (fleets with pods: core, edge)"]],
      ["default/b", []],
      ["default/c", []], // Refused: no pod gets it anyway.
    ]);
    const warned = ["no valid resource names its fleet core, so it gets none (fleets of resources: cor, edge)"];
    expect(shown.map((pod) => [pod.fleet, pod.warnings])).toEqual(
      fleet === "" ? [["core", warned], ["edge", []]] : [["edge", []]], // prettier-ignore
    );
  });

  it("has them in its message", () => {
    const message = rolloutMessage(reportOf(publisher, pods));
    expect(message.resources[0]?.warnings).toHaveLength(1);
    expect(message.pods.map(({ warnings }) => warnings.length)).toEqual([1, 0]);
  });
});
