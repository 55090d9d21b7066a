import { describe, expect, it } from "vitest";

import { settingRowsOf, settingsFrom } from "./program-settings.ts";
import type { EnvReader } from "./read-env.ts";

function readPortAndHost(reader: EnvReader): { host: string; port: number } {
  return {
    host: reader.string("HOST", { default: "127.0.0.1", effect: "Address of the listener." }),
    port: reader.port("PORT", { default: 8080, effect: "Port of the listener." }),
  };
}

describe("settingsFrom()", () => {
  it("settingsFrom() gives frozen settings from the environment and the defaults", () => {
    const settings = settingsFrom({ PORT: "9000" }, readPortAndHost);
    expect(settings).toEqual({ host: "127.0.0.1", port: 9000 });
    expect(Object.isFrozen(settings)).toBe(true);
  });

  it("settingsFrom() throws for a value that is wrong", () => {
    expect(() => settingsFrom({ PORT: "nine" }, readPortAndHost)).toThrow(
      "Cannot read the settings: one setting is wrong",
    );
  });
});

describe("settingRowsOf()", () => {
  it("settingRowsOf() lists every setting in the order of reading", () => {
    expect(settingRowsOf(readPortAndHost)).toEqual([
      { names: ["HOST"], type: "text", default: "127.0.0.1", effect: "Address of the listener." },
      { names: ["PORT"], type: "port", default: "8080", effect: "Port of the listener." },
    ]);
  });
});
