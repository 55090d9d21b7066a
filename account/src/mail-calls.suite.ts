// The calls that need mail, over real HTTP and with a real SMTP server. The test of each user store runs this suite.
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MailServer, tokenOf } from "./mail/smtp-server.suite.ts";
import { type Answer, cookieAttributes, cookieHeader, type RunningService, USER } from "./running-service.suite.ts";

const LINK = "https://app.example.com/account";
const NEW_PASSWORD = "a better horse battery";
const OTHER = "new@x.com";

/** Runs the suite on a service that `start` starts on an empty store with further settings. */
export function describeMailCalls(
  name: string,
  start: (env: Readonly<Record<string, string>>) => Promise<RunningService>,
): void {
  describe(`mail on ${name}`, () => {
    let server: MailServer;
    let service: RunningService;
    let cookie: string;

    beforeEach(async () => {
      server = await MailServer.start();
      const from = "Example <accounts@example.com>";
      service = await start({ MAIL: "smtp", SMTP_URL: server.url, MAIL_FROM: from, MAIL_LINK_URL: LINK });
      await service.register({ ...USER, name: "Ada" });
      cookie = await service.session();
    });

    afterEach(async () => {
      await service.stop();
      await server.stop();
    });

    const post = (path: string, body: object = {}, session = cookie): Promise<Answer> =>
      service.call({
        method: "POST",
        path: `/api/v1/user/${path}`,
        headers: { Cookie: session, "Content-Type": "application/json" },
        body: JSON.stringify(body),
      });
    const currentUser = async (session = cookie): Promise<Record<string, unknown>> => {
      const answer = await service.call({ path: "/api/v1/user/current-user", headers: { Cookie: session } });
      return answer.json["user"] as Record<string, unknown>;
    };
    const outcome = ({ status, json }: Answer): readonly unknown[] => [status, json["code"]];
    const forget = async (email: string = USER.email): Promise<string> => {
      const before = server.mails.length;
      expect((await post("forgot-password", { email }, "")).status).toBe(200);
      await eventually("the mail", () => expect(server.mails.length).toBe(before + 1));
      return tokenOf(server, "reset");
    };

    it("verifies an address by the link of a mail, once", async () => {
      expect(await currentUser()).toMatchObject({ emailVerified: false });
      expect((await post("send-verification")).status).toBe(200);
      const [mail] = server.mails;
      expect([mail?.from, mail?.to]).toEqual(["accounts@example.com", [USER.email]]);
      expect(mail?.text).toContain(`${LINK}#verify=`);
      expect(mail?.text).not.toContain("Ada");
      const token = tokenOf(server, "verify");
      const answer = await post("verify-email", { token });
      expect([answer.status, answer.json["user"]]).toEqual([200, await currentUser()]);
      expect(await currentUser()).toMatchObject({ emailVerified: true });
      expect(outcome(await post("verify-email", { token }))).toEqual([400, "link_invalid"]);
    });

    it("verifies nothing for another account, after 30 minutes, or by another link", async () => {
      await service.register({ ...USER, email: "b@x.com" });
      const other = cookieHeader(await service.login({ ...USER, email: "b@x.com" }));
      await post("send-verification");
      const token = tokenOf(server, "verify");
      expect(outcome(await post("verify-email", { token }, other))).toEqual([400, "link_invalid"]);
      expect(outcome(await post("verify-email", { token }, ""))).toEqual([401, "not_authenticated"]);
      const reset = await forget();
      for (const wrong of [reset, `${token}A`, token.slice(0, -1), "", "…"])
        expect(outcome(await post("verify-email", { token: wrong }))).toEqual([400, "link_invalid"]);
      expect((await post("verify-email", {})).json["errors"]).toMatchObject([
        { field: "token", code: "token_required" },
      ]);
      expect(outcome(await post("reset-password", { token, newPassword: NEW_PASSWORD }))).toEqual([
        400,
        "link_invalid",
      ]);
      service.advance(1_800_000);
      expect(outcome(await post("verify-email", { token }, await service.session()))).toEqual([400, "link_invalid"]);
      expect(await currentUser(await service.session())).toMatchObject({ emailVerified: false });
    });

    it("changes the address when the link at the new one is opened, and informs the earlier one", async () => {
      const wrong = await post("change-email", { password: "not the password", email: OTHER });
      expect(outcome(wrong)).toEqual([401, "invalid_credentials"]);
      expect(server.mails).toEqual([]);
      expect((await post("change-email", { password: USER.password, email: OTHER })).status).toBe(200);
      expect(server.mails.map(({ to }) => to)).toEqual([[OTHER]]);
      expect(await currentUser()).toMatchObject({ email: USER.email });
      const answer = await post("verify-email", { token: tokenOf(server, "verify") });
      expect(answer.json["user"]).toMatchObject({ email: OTHER, emailVerified: true });
      expect(server.mails.at(-1)).toMatchObject({
        to: [USER.email],
        text: expect.stringContaining("was changed") as string,
      });
      expect((await service.login({ ...USER, email: OTHER })).status).toBe(200);
      expect(outcome(await service.login())).toEqual([401, "invalid_credentials"]);
      expect((await service.register()).status).toBe(201);
    });

    it("does not change the address to one that is taken, also when it is taken meanwhile", async () => {
      await service.register({ ...USER, email: "b@x.com" });
      const taken = await post("change-email", { password: USER.password, email: "B@x.com" });
      expect([outcome(taken), server.mails]).toEqual([[409, "email_taken"], []]);
      await post("change-email", { password: USER.password, email: OTHER });
      await service.register({ ...USER, email: OTHER });
      expect(outcome(await post("verify-email", { token: tokenOf(server, "verify") }))).toEqual([409, "email_taken"]);
      expect(await currentUser()).toMatchObject({ email: USER.email });
    });

    it("sets a forgotten password by a link, once, and ends all sessions", async () => {
      await post("send-verification");
      await post("verify-email", { token: tokenOf(server, "verify") });
      const token = await forget(" A@X.com ");
      const weak = await post("reset-password", { token, newPassword: "sunshine2024" }, "");
      expect(weak.json["errors"]).toMatchObject([{ field: "newPassword", code: "password_common" }]);
      expect((await post("reset-password", { token, newPassword: NEW_PASSWORD }, "")).status).toBe(200);
      const ended = await service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
      expect(outcome(ended)).toEqual([401, "session_revoked"]);
      expect(outcome(await service.login())).toEqual([401, "invalid_credentials"]);
      const login = await service.login({ ...USER, password: NEW_PASSWORD });
      expect(login.json["user"]).toMatchObject({ name: "Ada", emailVerified: true });
      expect((login.json["user"] as Record<string, unknown>)["avatar"]).not.toBeNull();
      expect(outcome(await post("reset-password", { token, newPassword: NEW_PASSWORD }, ""))).toEqual([
        400,
        "link_invalid",
      ]);
    });

    it("gives an address that was never verified to its owner, without name and avatar of the earlier holder", async () => {
      const { avatar, id } = await currentUser();
      const token = await forget();
      expect((await post("reset-password", { token, newPassword: NEW_PASSWORD }, "")).status).toBe(200);
      const login = await service.login({ ...USER, password: NEW_PASSWORD });
      expect(login.json["user"]).toMatchObject({ id, name: null, avatar: null, emailVerified: true });
      expect(outcome(await service.login())).toEqual([401, "invalid_credentials"]);
      await eventually("the avatar to go", async () => expect((await fetch(String(avatar))).status).toBe(404));
    });

    it("makes the browser a known one that verifies an address or sets a forgotten password", async () => {
      await post("send-verification");
      const verified = await post("verify-email", { token: tokenOf(server, "verify") });
      const reset = await post("reset-password", { token: await forget(), newPassword: NEW_PASSWORD }, "");
      for (const answer of [verified, reset])
        expect(cookieAttributes(answer)).toEqual([
          "__Host-device=…; Max-Age=15552000; Path=/; Secure; HttpOnly; SameSite=Strict",
        ]);
    });

    it("lets no link work that was mailed before the password or the address changed", async () => {
      const first = await forget();
      const changed = await post("change-password", { password: USER.password, newPassword: NEW_PASSWORD });
      const session = cookieHeader(changed);
      expect(outcome(await post("reset-password", { token: first, newPassword: USER.password }))).toEqual([
        400,
        "link_invalid",
      ]);
      const second = await forget();
      await post("change-email", { password: NEW_PASSWORD, email: OTHER }, session);
      await post("verify-email", { token: tokenOf(server, "verify") }, session);
      expect(outcome(await post("reset-password", { token: second, newPassword: USER.password }))).toEqual([
        400,
        "link_invalid",
      ]);
    });

    it("answers alike for addresses without an account, before it looks for one", async () => {
      const comparable = ({ status, json, headers }: Answer): unknown => [status, json, headers["content-length"]];
      const known = await post("forgot-password", { email: USER.email }, "");
      const unknown = await post("forgot-password", { email: "unknown@x.com" }, "");
      expect(comparable(unknown)).toEqual(comparable(known));
      await eventually("the mail", () => expect(server.mails).toHaveLength(1));
      server.refusal = "no such mailbox";
      expect(comparable(await post("forgot-password", { email: USER.email }, ""))).toEqual(comparable(known));
      await eventually("the line", () =>
        expect(service.logLines.some((line) => line.includes("Cannot mail a link for a new password"))).toBe(true),
      );
    });

    it("answers 503 when the server does not take a mail, without the address in the log", async () => {
      server.refusal = `no mailbox ${USER.email}`;
      const answer = await post("send-verification");
      expect([outcome(answer), answer.headers["retry-after"]]).toEqual([[503, "mail_unavailable"], "10"]);
      expect(service.logLines.some((line) => line.includes("no mailbox …"))).toBe(true);
    });
  });
}
