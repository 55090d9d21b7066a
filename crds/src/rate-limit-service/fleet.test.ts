// The default fleets of resources, and which namespace may have which.
import { describe, expect, it } from "vitest";

import { fleetOf, mayHaveFleet } from "./fleet.ts";

/** The longest namespace, one that leaves no characters for a hash, and one that does. */
const LONG = "n".repeat(63);
const ALMOST_LONG = "n".repeat(52);
const SHORT = "n".repeat(51);

function defaultFleet(namespace: string | undefined, name: string): string {
  return fleetOf({ metadata: { name, ...(namespace !== undefined && { namespace }) }, spec: {} });
}

describe("fleetOf()", () => {
  it.each([
    { namespace: "shop", name: "edge", expected: "shop.edge" },
    { namespace: undefined, name: "edge", expected: "default.edge" },
    { namespace: "a".repeat(31), name: "z".repeat(31), expected: `${"a".repeat(31)}.${"z".repeat(31)}` },
    { namespace: ALMOST_LONG, name: "edge", expected: `${ALMOST_LONG}.edge` },
    { namespace: SHORT, name: "z".repeat(12), expected: `${SHORT}.-e2c0032866` },
    { namespace: "shop", name: "z".repeat(60), expected: `shop.${"z".repeat(47)}-179dea433c` },
    { namespace: LONG, name: "edge", expected: `${"n".repeat(30)}_73dcf996417209ec5e32.-8981f95497` },
  ])("is $expected by default", ({ namespace, name, expected }) => {
    const fleet = defaultFleet(namespace, name);
    expect(fleet).toBe(expected);
    expect(fleet.length).toBeLessThanOrEqual(63);
    expect(mayHaveFleet(namespace ?? "default", fleet)).toBe(true);
  });

  it("is the one that the resource names", () => {
    expect(fleetOf({ metadata: { name: "edge", namespace: "shop" }, spec: { fleet: "gateway" } })).toBe("gateway");
  });

  it.each([
    { of: "names", fleets: ["a", "b"].map((name) => defaultFleet(LONG, name)) },
    { of: "namespaces", fleets: ["a", "b"].map((end) => defaultFleet(`${"n".repeat(62)}${end}`, "edge")) },
  ])("differs for long $of that begin alike", ({ fleets }) => {
    expect(new Set(fleets).size).toBe(2);
  });
});

describe("mayHaveFleet()", () => {
  it.each([
    { namespace: "shop", fleet: "shop.core", may: true },
    { namespace: "shop", fleet: "shop.core.blue", may: true },
    { namespace: "shop", fleet: "gold", may: true },
    { namespace: "bank", fleet: "shop.core", may: false },
    { namespace: "shop", fleet: "bank.shop.core", may: false },
    { namespace: "shop-2", fleet: "shop.core", may: false },
    { namespace: "shop", fleet: "shop-2.core", may: false },
    { namespace: ALMOST_LONG, fleet: `${ALMOST_LONG}.gold`, may: true },
    { namespace: `${"n".repeat(62)}a`, fleet: defaultFleet(LONG, "edge"), may: false },
    // The part before the dot is the shortened name of another namespace.
    { namespace: "n".repeat(30), fleet: defaultFleet(LONG, "edge"), may: false },
  ])("is $may for $namespace and $fleet", ({ namespace, fleet, may }) => {
    expect(mayHaveFleet(namespace, fleet)).toBe(may);
  });
});
