import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { linkPackages } from "./package-links.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});

afterEach(() => {
  folder.remove();
});

function file(path: string, text: string): void {
  mkdirSync(dirname(join(folder.path, path)), { recursive: true });
  writeFileSync(join(folder.path, path), text);
}

describe("linkPackages()", () => {
  it("shares packages and takes our own workspaces from the checkout when both have them", () => {
    file("now/node_modules/ioredis/package.json", "{}");
    file("now/node_modules/@grpc/grpc-js/package.json", "{}");
    file("now/node_modules/.bin/tsc", "compiler");
    file("now/node_modules/.bin/weir-ratelimit", "program of now");
    file("now/node_modules/@weir/common/package.json", "now");
    file("now/node_modules/@weir/added-later/package.json", "now");
    file("now/common/node_modules/nested/package.json", "nested");
    file("before/common/package.json", "before");
    linkPackages(join(folder.path, "now"), join(folder.path, "before"));
    const packages = join(folder.path, "before", "node_modules");
    expect(realpathSync(join(packages, "ioredis"))).toBe(realpathSync(join(folder.path, "now/node_modules/ioredis")));
    expect(realpathSync(join(packages, "@grpc/grpc-js"))).toBe(
      realpathSync(join(folder.path, "now/node_modules/@grpc/grpc-js")),
    );
    expect(readFileSync(join(packages, ".bin/tsc"), "utf8")).toBe("compiler");
    expect(readFileSync(join(packages, "@weir/common/package.json"), "utf8")).toBe("before");
    expect(readFileSync(join(folder.path, "before/common/node_modules/nested/package.json"), "utf8")).toBe("nested");
    expect(() => readFileSync(join(packages, "@weir/added-later/package.json"))).toThrow("ENOENT");
    expect(() => readFileSync(join(packages, ".bin/weir-ratelimit"))).toThrow("ENOENT");
  });
});
