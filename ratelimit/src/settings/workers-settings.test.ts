// WORKERS, and what it needs.
import { SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";
import { parseSettings } from "../settings.ts";

const KVSTORE = { BACKEND_TYPE: "kvstore", KVSTORE_URL: "/run/redis.sock" };
const MEMORY = { BACKEND_TYPE: "memory" };

function problemOf(env: Readonly<Record<string, string>>): string | undefined {
  try {
    parseSettings(env);
    return undefined;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map(({ name, value, allowed }) => `${name}=${value}: ${allowed}`).join("; ");
  }
}

describe("parseSettings() of WORKERS", () => {
  it.each([
    { env: { ...KVSTORE }, expected: 1 },
    { env: { ...KVSTORE, WORKERS: "64" }, expected: 64 },
    { env: { ...KVSTORE, WORKERS: "auto" }, expected: "auto" },
    { env: { ...MEMORY, WORKERS: "auto" }, expected: "auto" },
  ])("takes $env", ({ env, expected }) => {
    expect(parseSettings(env).server.workers).toBe(expected);
  });

  it.each([
    { env: { ...KVSTORE, WORKERS: "0" }, problem: "WORKERS=0: auto, or a whole number from 1 to 64" },
    { env: { ...KVSTORE, WORKERS: "1.5" }, problem: "WORKERS=1.5: auto, or a whole number from 1 to 64" },
    { env: { ...KVSTORE, WORKERS: "two" }, problem: "WORKERS=two: auto, or a whole number from 1 to 64" },
    {
      env: { ...MEMORY, WORKERS: "2" },
      problem: "WORKERS=2: 1 or auto, because BACKEND_TYPE is memory: processes do not share counters in memory",
    },
  ])("refuses $env", ({ env, problem }) => {
    expect(problemOf(env)).toBe(problem);
  });
});
