// Tests of status-of.ts: what is true of the status whatever replicas report.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { FleetGaps, FleetPods, KnownResource, ResourceReports } from "../reports/merged-reports.ts";
import { conditionsOf, INVALID, NOW_MS, reportsOf, RESOURCE } from "./replica-reports.suite.ts";
import { statusOf } from "./status-of.ts";

describe("statusOf(), whatever replicas report", () => {
  const count = fc.nat({ max: 2 });
  const fleet = fc.record<FleetPods>({
    name: fc.constantFrom("*", "a", "b"),
    digest: fc.constantFrom("d1", "d2"),
    accepted: count,
    pending: count,
    rejected: fc.array(fc.record({ pod: fc.constantFrom("web/a", "web/b"), message: fc.constantFrom("x", "y") }), {
      maxLength: 2,
    }),
  });
  const known = fc.record<KnownResource>({
    uid: fc.constantFrom("u1", "u1", "u1", "u0", ""),
    generation: fc.constantFrom(3, 3, 3, 2, 4),
    reason: fc.constantFrom("", "", "", "DomainConflict", "TooLarge"),
    problems: fc.constantFrom([], [{ field: "spec", message: "no" }]),
    servesLastGood: fc.boolean(),
    fleets: fc.uniqueArray(fleet, { maxLength: 3, selector: ({ name }) => name }),
  });
  const gap = fc.record<FleetGaps>({
    name: fc.constantFrom("*", "a", "b"),
    missing: fc.constantFrom(0, 0, 1, 2),
    unknown: count,
  });
  const name = fc.array(fc.constantFrom("s1", "s2"), { maxLength: 1 });
  const reports = fc.record<ResourceReports>({
    silent: name,
    awaited: name,
    replicas: fc.array(fc.option(known, { nil: undefined }), { maxLength: 3 }).map((all) => reportsOf(all).replicas),
    gaps: fc.uniqueArray(gap, { maxLength: 2, selector: (each) => each.name }),
  });
  const resource = fc.constantFrom(RESOURCE, RESOURCE, INVALID, { ...RESOURCE, fleets: ["a", "b"] });

  it("is ready only when every replica knows this generation and all its pods have ACKed", () => {
    fc.assert(
      fc.property(resource, reports, (observed, all) => {
        const { Ready = "", Accepted = "", Programmed = "" } = conditionsOf(observed, all);
        expect(Ready.startsWith("True")).toBe(Accepted.startsWith("True") && Programmed.startsWith("True"));
        if (!Ready.startsWith("True")) return;
        expect([observed.problems, all.silent, all.awaited]).toEqual([[], [], []]);
        for (const { missing } of all.gaps) expect(missing).toBe(0);
        expect(all.replicas.length).toBeGreaterThan(0);
        for (const replica of all.replicas) {
          expect(replica.known).toMatchObject({ uid: "u1", generation: 3, reason: "" });
          for (const each of replica.known?.fleets ?? []) expect(each).toMatchObject({ pending: 0, rejected: [] });
        }
        expect(all.replicas.some((replica) => replica.known?.fleets.some(({ accepted }) => accepted > 0))).toBe(true);
      }),
      { seed: 1, numRuns: 2000 },
    );
  });

  it("does not depend on the order of replicas, silent ones, fleets and NACKs", () => {
    fc.assert(
      fc.property(resource, reports, (observed, all) => {
        const reversed = {
          silent: all.silent.toReversed(),
          gaps: all.gaps.toReversed(),
          awaited: all.awaited.toReversed(),
          replicas: all.replicas.toReversed().map((replica) => ({
            ...replica,
            known: replica.known && {
              ...replica.known,
              fleets: replica.known.fleets
                .toReversed()
                .map((each) => ({ ...each, rejected: each.rejected.toReversed() })),
            },
          })),
        };
        expect(statusOf(observed, reversed, NOW_MS, undefined)).toEqual(statusOf(observed, all, NOW_MS, undefined));
      }),
      { seed: 2, numRuns: 1000 },
    );
  });

  it("changes nothing when it is computed again", () => {
    fc.assert(
      fc.property(resource, reports, (observed, all) => {
        const { status } = statusOf(observed, all, NOW_MS, undefined);
        expect(statusOf(observed, all, NOW_MS + 60_000, status).status).toEqual(status);
      }),
      { seed: 3, numRuns: 500 },
    );
  });
});
