// The program with NODE_ENV=production: it starts with settings that are fit for that, and with no others.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Programs, ready } from "./program.suite.ts";

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.stop());

const PRODUCTION = {
  NODE_ENV: "production",
  BCRYPT_COST: "10",
  ALLOW_EMBEDDED: "true",
  PUBLIC_ORIGIN: "https://account.example.com",
  HOST: "127.0.0.1",
  METRICS_HOST: "127.0.0.1",
  ACCESS_TOKEN_SECRET: "rT7-long-enough-access-value-0123456789",
  REFRESH_TOKEN_SECRET: "zQ9-long-enough-refresh-value-987654321",
  ACCOUNT_LABEL_SECRET: "mK4-long-enough-label-value-5566778899",
};

describe("weir-account with NODE_ENV=production", () => {
  it("starts with real secrets", async () => {
    const program = programs.start({ ...PRODUCTION, RATE_LIMIT_FAILURE: "local" });
    await ready(program);
    expect(program.text()).not.toContain("Not fit for production");
  });

  it.each([
    {
      name: "one secret for both tokens",
      env: { REFRESH_TOKEN_SECRET: PRODUCTION.ACCESS_TOKEN_SECRET },
      setting: "REFRESH_TOKEN_SECRET",
      value: PRODUCTION.ACCESS_TOKEN_SECRET,
    },
    {
      name: "a short secret",
      env: { ACCESS_TOKEN_SECRET: "Xy3!hq8Z" },
      setting: "ACCESS_TOKEN_SECRET",
      value: "Xy3!hq8Z",
    },
    {
      name: "a placeholder for the labels' secret",
      env: { ACCOUNT_LABEL_SECRET: "changeme" },
      setting: "ACCOUNT_LABEL_SECRET",
      value: "changeme",
    },
    {
      name: "a placeholder",
      env: { ACCESS_TOKEN_SECRET: "changeme" },
      setting: "ACCESS_TOKEN_SECRET",
      value: "changeme",
    },
    {
      name: "local avatars without PUBLIC_ORIGIN",
      env: { PUBLIC_ORIGIN: "" },
      setting: "PUBLIC_ORIGIN",
      value: undefined,
    },
    { name: "the embedded store", env: { ALLOW_EMBEDDED: "" }, setting: "STORE", value: undefined },
    {
      name: "insecure cookies",
      env: { COOKIE_INSECURE_DEV: "true" },
      setting: "COOKIE_INSECURE_DEV",
      value: undefined,
    },
    { name: "every origin", env: { CORS_ORIGINS: "*" }, setting: "CORS_ORIGINS", value: undefined },
    { name: "every proxy", env: { TRUST_PROXY: "true" }, setting: "TRUST_PROXY", value: undefined },
  ])("does not start with $name", async ({ env, setting, value }) => {
    const program = programs.start({ ...PRODUCTION, ...env });
    expect(await program.code).toBe(1);
    expect(program.text()).toMatch(new RegExp(`^  ${setting}(=| is not set)`, "m"));
    if (value !== undefined) expect(program.text()).not.toContain(value);
  });
});
