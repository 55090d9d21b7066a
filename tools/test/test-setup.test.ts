// The small decisions of the set-up. That it installs what it should shows when the integration
// tests start real servers.
import { describe, expect, it } from "vitest";
import { cacheFolder, isGoUsable } from "./test-setup.ts";

describe("cacheFolder()", () => {
  it("is in XDG_CACHE_HOME when that is set", () => {
    expect(cacheFolder({ XDG_CACHE_HOME: "/var/cache/ada" })).toBe("/var/cache/ada/weir");
  });

  it("is in the home folder when XDG_CACHE_HOME is empty", () => {
    expect(cacheFolder({ XDG_CACHE_HOME: "" })).toMatch(/\/\.cache\/weir$/);
  });
});

describe("isGoUsable()", () => {
  it.each([
    { goVersion: "go version go1.26.8 linux/amd64", usable: true },
    { goVersion: "go version go1.21.0 linux/amd64", usable: true },
    { goVersion: "go version go1.19.8 linux/amd64", usable: false },
    { goVersion: "go version go2.0 linux/amd64", usable: true },
    { goVersion: "bash: go: broken", usable: false },
  ])("is $usable when go says $goVersion", ({ goVersion, usable }) => {
    expect(isGoUsable(goVersion)).toBe(usable);
  });
});
