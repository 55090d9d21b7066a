// The packages that a workspace needs at run time.
import { describe, expect, it } from "vitest";
import { findClosure, packageName } from "./closure.ts";

const LOCKED = {
  "": { dependencies: { node: "26" }, devDependencies: { tool: "1" } },
  pod: { version: "1", dependencies: { "@weir/base": "*", wire: "1" }, devDependencies: { tool: "1" } },
  base: { version: "1", dependencies: { wire: "2", "@types/wire": "2" } },
  "node_modules/@weir/base": { link: true, resolved: "base" },
  "node_modules/wire": { version: "1", optionalDependencies: { "wire-linux": "1", "wire-other": "1" } },
  "node_modules/wire-linux": { version: "1", os: ["linux"], cpu: ["!s390x"] },
  "node_modules/wire-other": { version: "1", os: ["win32"] },
  "node_modules/@types/wire": { version: "2" },
  "base/node_modules/wire": {
    version: "2",
    peerDependencies: { api: "1", extra: "1" },
    peerDependenciesMeta: { extra: { optional: true } },
  },
  "node_modules/api": { version: "1" },
  "node_modules/extra": { version: "1" },
  "node_modules/tool": { version: "1" },
} as const;

const PLATFORM = { os: "linux", cpu: "x64", libc: "glibc" } as const;

describe("findClosure()", () => {
  it("follows links, nested packages, peers and installed optional packages, and leaves out what builds and types", () => {
    expect(findClosure(LOCKED, ["pod"], PLATFORM)).toEqual({
      workspaces: ["base", "pod"],
      packages: ["base/node_modules/wire", "node_modules/api", "node_modules/wire", "node_modules/wire-linux"],
    });
  });

  it("names a package that the lock file lacks", () => {
    expect(() => findClosure({ pod: { dependencies: { gone: "1" } } }, ["pod"])).toThrow(
      "Cannot find gone, which pod needs",
    );
  });
});

describe("packageName()", () => {
  it.each([
    { folder: "node_modules/wire", name: "wire" },
    { folder: "base/node_modules/@scope/api", name: "@scope/api" },
    { folder: "node_modules/a/node_modules/b", name: "b" },
  ])("is $name in $folder", ({ folder, name }) => {
    expect(packageName(folder)).toBe(name);
  });
});
