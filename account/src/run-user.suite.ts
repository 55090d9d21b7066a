// Tests `weir-account user` next to a running service, as docs/account.md describes it. The test of each user
// store runs this suite.
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UserAction } from "./command.ts";
import { runUser } from "./run-user.ts";
import { type Answer, type RunningService, USER } from "./running-service.suite.ts";
import { parseSettings } from "./settings/settings.ts";
import { BASE_ENV } from "./program.suite.ts";

/** Runs the suite on a service that `start` starts on an empty store, with the settings that it has given. */
export function describeUserCommand(
  name: string,
  start: () => Promise<{ readonly service: RunningService; readonly env: Readonly<Record<string, string>> }>,
): void {
  describe(`weir-account user on ${name}`, () => {
    let service: RunningService;
    let env: Readonly<Record<string, string>>;

    beforeEach(async () => {
      ({ service, env } = await start());
      await service.register({ ...USER, name: "Ada" });
    });

    afterEach(() => service.stop());

    const run = async (action: UserAction, email = USER.email) => {
      const output = { stdout: "", stderr: "" };
      const settings = parseSettings({ ...BASE_ENV, DATA_DIR: service.directory, ...env });
      const code = await runUser(
        settings,
        { action, email },
        {
          stdout: (text) => (output.stdout += text),
          stderr: (text) => (output.stderr += text),
          useLog: () => undefined,
        },
      );
      return { code, ...output };
    };
    const lastLine = (stderr: string): Record<string, string> =>
      JSON.parse(stderr.trimEnd().split("\n").at(-1)!) as Record<string, string>;
    const currentUser = (cookie: string): Promise<Answer> =>
      service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
    const outcome = ({ status, json }: Answer): readonly unknown[] => [status, json["code"]];

    it("finds an account by any spelling of its address, and shows neither password nor tokens", async () => {
      const user = (await service.login(USER, { "User-Agent": "Browser/1.0" })).json["user"] as { readonly id: string };
      const { code, stdout, stderr } = await run("find", " A@X.com ");
      expect(code).toBe(0);
      expect(lastLine(stderr)).toMatchObject({
        "@message": "Account shown to an operator",
        user: user.id,
        account: expect.stringMatching(/^[0-9a-f]+$/) as string,
        operator: expect.stringMatching(/./) as string,
      });
      expect(stderr).not.toMatch(/@x\.com|\$2b|Browser/);
      expect(stdout).toContain(`id          ${user.id}\n`);
      expect(stdout).toMatch(/^locked {6}no\n/m);
      expect(stdout).toMatch(
        /^sessions {4}1\n {2}[0-9a-f-]{36} {2}last used \S+ {2}127\.0\.0\.0\/24 {2}Browser\/1\.0\n/m,
      );
      expect(stdout).not.toMatch(/\$2b|[0-9a-f]{64}/);
    });

    it.each(["unknown@x.com", "no address"])("ends with 1 when no account has the address %s", async (email) => {
      for (const action of ["find", "lock", "delete"] as const) {
        const { code, stdout, stderr } = await run(action, email);
        expect([code, stdout]).toEqual([1, ""]);
        expect(stderr).toMatch(/weir-account: Cannot find the account: none has this e-mail address\n$/);
        expect(stderr).toMatch(new RegExp(`"action":"${action}".*Account not found for an operator`));
        expect(stderr).not.toContain("x.com");
      }
    });

    it("locks: sessions end, the password opens none, a wrong one reveals nothing; and unlocks", async () => {
      const cookie = await service.session();
      const { code, stdout, stderr } = await run("lock");
      expect([code, stdout]).toEqual([0, "The account is locked and logged out everywhere.\n"]);
      const line = lastLine(stderr);
      expect(line).toMatchObject({
        "@message": "Account locked by an operator",
        operator: expect.stringMatching(/./) as string,
      });
      expect(stderr).not.toContain(USER.email);
      const refused = service.logLines.filter((each) => each.includes(String(line["account"])));
      expect(refused.length).toBeGreaterThan(0); // The lines of the service have the same label.
      expect(outcome(await currentUser(cookie))).toEqual([401, "session_revoked"]);
      expect(outcome(await service.login())).toEqual([403, "account_locked"]);
      expect(outcome(await service.login({ ...USER, password: "not the password" }))).toEqual([
        401,
        "invalid_credentials",
      ]);
      expect(outcome(await service.register())).toEqual([409, "email_taken"]);
      expect((await run("find")).stdout).toMatch(/^locked {6}since \d/m);
      expect((await run("unlock")).stdout).toBe("The account is not locked.\n");
      expect((await service.login()).status).toBe(200);
    });

    it("ends all sessions and leaves the rest", async () => {
      const cookie = await service.session();
      expect((await run("end-sessions")).stdout).toBe("All sessions are ended.\n");
      expect(outcome(await currentUser(cookie))).toEqual([401, "session_revoked"]);
      expect((await service.login()).status).toBe(200);
    });

    it("deletes record, sessions and avatar", async () => {
      const login = await service.login();
      const { avatar } = login.json["user"] as { readonly avatar: string };
      expect((await run("delete")).stdout).toBe("The account is deleted.\n");
      expect((await run("find")).code).toBe(1);
      await eventually("the avatar to go", async () => expect((await fetch(avatar)).status).toBe(404));
      expect(outcome(await service.login())).toEqual([401, "invalid_credentials"]);
      expect((await service.register()).status).toBe(201);
    });
  });
}
