// The bill of materials.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { LockedPackages } from "../images/closure.ts";
import { billOfMaterials } from "./bill-of-materials.ts";

const SUBJECT = { version: "1.2.3", timestampSeconds: 1_700_000_000, commit: "abc" } as const;
const IMAGES = [
  { name: "weir-one", workspaces: ["one"] },
  { name: "weir-two", workspaces: ["two"] },
] as const;

/** A lock file in which `two` needs a package of its own. */
const LOCKED = {
  one: { dependencies: { "@scope/wire": "1" } },
  two: { dependencies: { "@scope/wire": "1", extra: "1" }, devDependencies: { tool: "1" } },
  "node_modules/node": { version: "26.0.0", license: "MIT" },
  "node_modules/@scope/wire": { version: "1.0.0", license: "(MIT OR Apache-2.0)", integrity: "sha512-AAEC" },
  "node_modules/extra": { version: "1.1.0" },
  "node_modules/tool": { version: "1.0.0" },
} as const;

interface Bill {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string };
  readonly components: readonly { readonly name: string; readonly properties: readonly { readonly value: string }[] }[];
}

function parse(text: string): Bill {
  return JSON.parse(text) as Bill;
}

describe("billOfMaterials()", () => {
  it("lists each package with its hash, license and images", () => {
    const { components } = parse(billOfMaterials(LOCKED, SUBJECT, IMAGES));
    expect(components.map(({ name, properties }) => [name, ...properties.map(({ value }) => value)])).toEqual([
      ["@scope/wire", "weir-one", "weir-two"],
      ["extra", "weir-two"],
      ["node", "weir-one", "weir-two"],
    ]);
    expect(components[0]).toMatchObject({
      purl: "pkg:npm/%40scope/wire@1.0.0",
      licenses: [{ expression: "(MIT OR Apache-2.0)" }],
      hashes: [{ alg: "SHA-512", content: "000102" }],
    });
  });

  it("derives serial number and time from its content", () => {
    const bill = parse(billOfMaterials(LOCKED, SUBJECT, IMAGES));
    expect(bill.metadata.timestamp).toBe("2023-11-14T22:13:20.000Z");
    expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(parse(billOfMaterials(LOCKED, SUBJECT, IMAGES)).serialNumber).toBe(bill.serialNumber);
    const other = billOfMaterials(LOCKED, { ...SUBJECT, version: "1.2.4" }, IMAGES);
    expect(parse(other).serialNumber).not.toBe(bill.serialNumber);
  });

  it("knows the license and the hash of every package that ships", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: LockedPackages };
    const { components } = parse(billOfMaterials(packages, SUBJECT));
    expect(components.length).toBeGreaterThan(100);
    expect(components.filter((component) => !("hashes" in component)).map(({ name }) => name)).toEqual([]);
    expect(components.filter((component) => !("licenses" in component)).map(({ name }) => name)).toEqual([]);
    expect(components.filter(({ name }) => name.includes("vitest") || name.startsWith("@types/"))).toEqual([]);
  });
});
