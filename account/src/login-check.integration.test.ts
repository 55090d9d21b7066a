// weir-account check-login against a running service.
import { Secret } from "@weir/common/settings/secret";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runLoginCheck } from "./run-login-check.ts";
import { png } from "./media/sample-images.suite.ts";
import { formCall, type RunningService, startService, USER } from "./running-service.suite.ts";

const ORIGIN = "https://account.example.com";
const STEPS = ["login: 200", "currentUser: 200", "refreshToken: 200", "logout: 200", "currentUser: 401"];

describe("runLoginCheck()", () => {
  let service: RunningService;

  beforeAll(async () => {
    const origin = { PUBLIC_ORIGIN: ORIGIN, COOKIE_SAMESITE: "none" };
    service = await startService({ ...origin, ACCOUNT_LABEL_SECRET: "a".repeat(32) });
  });

  afterAll(async () => {
    await service.stop();
  });

  async function check(secret: string, url: string): Promise<{ code: number; stdout: string[]; stderr: string }> {
    let [stdout, stderr] = ["", ""];
    const settings = { labelSecret: new Secret(secret), publicOrigin: ORIGIN };
    const code = await runLoginCheck(settings, url, {
      stdout: (text) => (stdout += text),
      stderr: (text) => (stderr += text),
      signal: new AbortController().signal,
    });
    return { code, stdout: stdout.trim().split("\n"), stderr };
  }

  it("finds its address free: others cannot register it", async () => {
    const parts = [
      { name: "email", value: "Check-Login@weir-account.invalid" },
      { name: "password", value: USER.password },
      { name: "avatar", value: png(), fileName: "a.png", type: "image/png" },
    ];
    const answer = await service.call(formCall(parts, { Origin: ORIGIN }));
    expect([answer.status, answer.json["code"]]).toEqual([409, "email_taken"]);
  });

  it("registers a user once, and logs in as that user each time", async () => {
    const url = `http://127.0.0.1:${service.port}`;
    expect(await check("a".repeat(32), url)).toEqual({ code: 0, stdout: ["register: 201", ...STEPS], stderr: "" });
    expect(await check("a".repeat(32), url)).toEqual({ code: 0, stdout: ["register: 409", ...STEPS], stderr: "" });
  });

  it("fails with the step and its answer when the password is another one", async () => {
    const { code, stdout, stderr } = await check("b".repeat(32), `http://127.0.0.1:${service.port}`);
    expect([code, stdout]).toEqual([1, ["register: 409", "login: 401"]]);
    expect(stderr).toMatch(/^weir-account: Cannot check the login: login answered 401: .*"invalid_credentials"/);
  });

  it("fails when no service listens", async () => {
    const { code, stderr } = await check("a".repeat(32), "http://127.0.0.1:1");
    expect(code).toBe(1);
    expect(stderr).toContain("Cannot check the login at http://127.0.0.1:1: ");
  });
});
