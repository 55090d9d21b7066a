import { describe, expect, it } from "vitest";

import { findMeantSetting } from "./misspelt-setting.ts";

const KNOWN = ["PORT", "AVATAR_MAX_BYTES", "LOG_LEVEL", "S3_<NAME>_BUCKET"];

describe("findMeantSetting()", () => {
  it.each([
    { name: "AVATARMAXBYTES", meant: "AVATAR_MAX_BYTES" },
    { name: "AVATR_MAX_BYTES", meant: "AVATAR_MAX_BYTES" },
    { name: "AVATAR_MXA_BYTE", meant: "AVATAR_MAX_BYTES" },
    { name: "LOG_LEVLE", meant: "LOG_LEVEL" },
    { name: "LOGS_LEVEL", meant: "LOG_LEVEL" },
    { name: "LOG_LAVAL", meant: undefined }, // Two errors in a short name.
    { name: "AVATAR_MIN_BITES", meant: undefined }, // Three.
    { name: "PORTS", meant: undefined }, // Too short to say.
    { name: "S3_NAME_BUCKET", meant: undefined }, // A family of settings has no one spelling.
    { name: "PATH", meant: undefined },
  ])("findMeantSetting() gives $meant for $name", ({ name, meant }) => {
    expect(findMeantSetting(name, KNOWN)).toBe(meant);
  });
});
