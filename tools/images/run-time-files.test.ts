// The files that an image carries.
import { describe, expect, it } from "vitest";
import { isPackageFile, isWorkspaceFile } from "./run-time-files.ts";

describe("isPackageFile()", () => {
  it.each([
    { path: "package.json", carried: true },
    { path: "dist/doc/directives.js", carried: true }, // Only folders at the top are documentation.
    { path: "lib/history.js", carried: true },
    { path: "build/Release/addon.node", carried: true },
    { path: "LICENSE.md", carried: true },
    { path: "docs/LICENSE", carried: true },
    { path: "README.md", carried: false },
    { path: "test/run.js", carried: false },
    { path: "dist/index.d.ts", carried: false },
    { path: "dist/index.js.map", carried: false },
    { path: "src/addon.cc", carried: false },
    { path: ".eslintrc", carried: false },
  ])("is $carried for $path", ({ path, carried }) => {
    expect(isPackageFile(path)).toBe(carried);
  });
});

describe("isWorkspaceFile()", () => {
  it.each([
    { path: "package.json", carried: true },
    { path: "statistics-mapping.yaml", carried: true },
    { path: "bin/weir-ratelimit", carried: true },
    { path: "dist/main.js", carried: true },
    { path: "dist/main.js.map", carried: true },
    { path: "dist/main.d.ts", carried: false },
    { path: "dist/.tsbuildinfo", carried: false },
    { path: "src/main.ts", carried: false },
    { path: "tsconfig.build.json", carried: false },
  ])("is $carried for $path", ({ path, carried }) => {
    expect(isWorkspaceFile(path)).toBe(carried);
  });
});
