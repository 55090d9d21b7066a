// Tests of settled-fleets.ts: a report with settled digests has what the complete one has, whatever was edited and
// answered.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import type { PodState } from "../../pods/pod-registry.ts";
import { publicationFor } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { podOf, podThatAcked, podThatNacked, podThatNackedAll, publisherOf, reportOf } from "./rollout-facts.suite.ts";
import type { ResourceReport, RolloutReport } from "./rollout-report.ts";

const FLEETS = ["core", "edge", "none"];

/** A resource: its number, its limit, its fleets. */
const RESOURCE = fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 1 }), fc.subarray(FLEETS.slice(0, 2)));

const ANSWERS = ["acked", "acked before", "acked some", "nacked one", "nacked all", "nothing"] as const;

/** A pod: its fleet, and its answer. */
const POD = fc.tuple(fc.constantFrom(...FLEETS), fc.constantFrom(...ANSWERS));

function publisherWith(resources: readonly (readonly [number, number, readonly string[]])[], before?: PublisherState) {
  const files = resources.map(([number, limit, fleets]) => {
    const text = manifest({
      name: `r${number}`,
      domain: `d${number}`,
      requestsPerUnit: limit + 1,
      ...(fleets.length > 0 && { fleets }),
    });
    return [`${number}.yaml`, text];
  });
  return publisherOf(Object.fromEntries(files) as Record<string, string>, before === undefined ? {} : { before });
}

function podWith(
  [fleet, answer]: readonly [string, (typeof ANSWERS)[number]],
  index: number,
  [before, now]: readonly PublisherState[],
): PodState {
  const [earlier, current] = [before, now].map((state) => publicationFor(state!.publication, fleet)?.snapshot);
  const difference = { fleet, nodeId: `pod-${index}`, pod: `pod-${index}` };
  const [first] = current?.revisions ?? [];
  if (current === undefined || first === undefined) return podOf(difference);
  switch (answer) {
    case "acked":
      return podThatAcked(current, difference);
    case "acked before":
      return earlier === undefined ? podOf(difference) : podThatAcked(earlier, difference);
    case "acked some":
      return podThatAcked(current, { ...difference, acked: { snapshot: current, names: new Set([first.name]) } });
    case "nacked one":
      return podThatNacked(current, [{ name: first.name, revision: earlier?.get(first.name) }], difference);
    case "nacked all":
      return podThatNackedAll(current, earlier, "no", difference);
    case "nothing":
      return podOf(difference);
  }
}

/** The resource with the fleets that its report leaves out. */
function complete(resource: ResourceReport, { fleets, pods }: RolloutReport): ResourceReport {
  const { settledDigest, fleetStates } = resource;
  if (settledDigest === null) return resource;
  const named = resource.fleets ?? fleets.map(({ fleet }) => fleet);
  const known = new Set(fleets.map(({ fleet }) => fleet));
  const left = named.filter((fleet) => known.has(fleet) && !fleetStates.some((each) => each.fleet === fleet));
  const settled = left.map((fleet) => {
    const groups = pods.filter((pod) => (known.has(pod.fleet) ? pod.fleet : "*") === fleet).map(({ group }) => group);
    return { fleet, digest: settledDigest, acceptedGroups: [...new Set(groups)], pendingGroups: [], rejections: [] };
  });
  const all = [...fleetStates, ...settled].toSorted((one, other) => (one.fleet < other.fleet ? -1 : 1));
  return { ...resource, fleetStates: all, settledDigest: null };
}

describe("a report with settled digests", () => {
  it("has what the complete one has, and of each fleet in which every pod is current nothing", () => {
    const resources = fc.uniqueArray(RESOURCE, { selector: ([number]) => number });
    fc.assert(
      fc.property(resources, resources, fc.array(POD, { maxLength: 6 }), (older, newer, answers) => {
        const before = publisherWith(older);
        const now = publisherWith(newer, before);
        const pods = answers.map((answer, index) => podWith(answer, index, [before, now]));
        const short = reportOf(now, pods, { settledDigests: true });
        const whole = reportOf(now, pods);
        const completed = short.resources.map((resource) => complete(resource, short));
        expect({ ...short, resources: completed }).toEqual(whole);
        for (const { settledDigest, fleetStates } of short.resources)
          for (const { pendingGroups, rejections } of settledDigest === null ? [] : fleetStates)
            expect(pendingGroups.length + rejections.length).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });

  it.each(["core", "*"])("has it with a filter for the fleet %s, too", (fleet) => {
    const now = publisherWith([
      [0, 0, []],
      [1, 0, ["core"]],
    ]);
    const pods = (["core", "none"] as const).map((each, index) => podWith([each, "acked"], index, [now, now]));
    const short = reportOf(now, pods, { fleet, settledDigests: true });
    expect(short.resources.every(({ settledDigest }) => settledDigest !== null)).toBe(true);
    expect(short.resources.map((resource) => complete(resource, short))).toEqual(
      reportOf(now, pods, { fleet }).resources,
    );
  });

  it("has every fleet of a resource whose fleets are not yet those that its pods are sent", () => {
    const before = publisherWith([[0, 0, ["core"]]]);
    const desired = publisherWith([[0, 0, ["edge"]]]).desired;
    const pods = [podWith(["core", "acked"], 0, [before, before])];
    const [resource] = reportOf({ ...before, desired }, pods, { settledDigests: true }).resources;
    expect([resource?.settledDigest, resource?.fleetStates.map(({ fleet }) => fleet)]).toEqual([null, ["core"]]);
  });
});
