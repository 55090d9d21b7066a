import { describe, expect, it } from "vitest";

import type { FleetPods, KnownResource, ResourceReports } from "../reports/merged-reports.ts";
import { reportedGeneration } from "./reported-revisions.ts";

const LOADED: FleetPods = { name: "*", digest: "d", accepted: 2, pending: 0, rejected: [] };
const IDLE: FleetPods = { ...LOADED, accepted: 0 };
const KNOWN: KnownResource = {
  uid: "u",
  generation: 3,
  reason: "",
  problems: [],
  servesLastGood: false,
  fleets: [LOADED],
};

function reports(...known: (KnownResource | undefined)[]): ResourceReports {
  return {
    silent: [],
    awaited: [],
    gaps: [],
    replicas: known.map((each, index) => ({ name: `r${index}`, known: each })),
  };
}

describe("reportedGeneration()", () => {
  it.each<{ when: string; of: ResourceReports; is: number | undefined }>([
    { when: "all pods of the only replica have loaded it", of: reports(KNOWN), is: 3 },
    { when: "one of two replicas has no pod", of: reports(KNOWN, { ...KNOWN, fleets: [IDLE] }), is: 3 },
    { when: "no pod is connected", of: reports({ ...KNOWN, fleets: [IDLE] }), is: undefined },
    { when: "it is sent to no fleet", of: reports({ ...KNOWN, fleets: [] }), is: undefined },
    { when: "a pod has not answered", of: reports({ ...KNOWN, fleets: [{ ...LOADED, pending: 1 }] }), is: undefined },
    {
      when: "a pod of another fleet rejected it",
      of: reports({ ...KNOWN, fleets: [LOADED, { ...IDLE, rejected: [{ pod: "p", message: "no" }] }] }),
      is: undefined,
    },
    { when: "a replica is silent", of: { ...reports(KNOWN), silent: ["r9"] }, is: undefined },
    { when: "a replica has not answered yet", of: { ...reports(KNOWN), awaited: ["r9"] }, is: undefined },
    { when: "no replica answers", of: reports(), is: undefined },
    { when: "a replica does not know it", of: reports(KNOWN, undefined), is: undefined },
    { when: "replicas know different generations", of: reports(KNOWN, { ...KNOWN, generation: 4 }), is: undefined },
    { when: "a replica knows an object before it", of: reports(KNOWN, { ...KNOWN, uid: "v" }), is: undefined },
    { when: "all know an object before it", of: reports({ ...KNOWN, uid: "v" }), is: undefined },
    { when: "it is not accepted", of: reports({ ...KNOWN, reason: "InvalidSpec" }), is: undefined },
    { when: "an earlier revision is served", of: reports({ ...KNOWN, servesLastGood: true }), is: undefined },
  ])("is $is when $when", ({ of, is }) => {
    expect(reportedGeneration({ uid: "u" }, of)).toBe(is);
  });
});
