// Each form of import, and what it takes.
import { describe, expect, it } from "vitest";
import { importsOf } from "./imports.ts";

describe("importsOf()", () => {
  it.each([
    { text: 'import { a, b as c } from "./x.ts";', names: ["a", "b"], typeOnly: false },
    { text: 'import a from "./x.ts";', names: ["default"], typeOnly: false },
    { text: 'import type { A } from "./x.ts";', names: ["A"], typeOnly: true },
    { text: 'import * as x from "./x.ts";', names: "all", typeOnly: false },
    { text: 'import "./x.ts";', names: [], typeOnly: false },
    { text: 'export { a as b } from "./x.ts";', names: ["a"], typeOnly: false },
    { text: 'export type { A } from "./x.ts";', names: ["A"], typeOnly: true },
    { text: 'export * from "./x.ts";', names: "all", typeOnly: false },
    { text: 'const { a, b: c } = await import("./x.ts");', names: ["a", "b"], typeOnly: false },
    { text: 'const a = (await import("./x.ts")).a;', names: ["a"], typeOnly: false },
    { text: 'const x = await import("./x.ts");', names: "all", typeOnly: false },
    { text: 'let a: import("./x.ts").A.B;', names: ["A"], typeOnly: true },
    { text: 'let a: typeof import("./x.ts");', names: "all", typeOnly: true },
  ])("takes $names when the file holds $text", ({ text, names, typeOnly }) => {
    expect(importsOf("y.ts", `\n${text}`)).toEqual([{ specifier: "./x.ts", line: 2, names, typeOnly }]);
  });

  it("takes nothing when the address of a dynamic import is computed", () => {
    expect(importsOf("y.ts", "await import(path);")).toEqual([]);
  });
});
