// The calls that need mail on the embedded store, their limits, and without mail.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it } from "vitest";
import { MailServer, tokenOf } from "./mail/smtp-server.suite.ts";
import { describeMailCalls } from "./mail-calls.suite.ts";
import { type Answer, type RunningService, startService, USER } from "./running-service.suite.ts";

describeMailCalls("the embedded store", (env) => startService(env));

describe("the calls that need mail", () => {
  let service: RunningService;

  afterEach(() => service.stop());

  const post = (path: string, body: object, cookie = ""): Promise<Answer> =>
    service.call({
      method: "POST",
      path: `/api/v1/user/${path}`,
      headers: { Cookie: cookie, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });

  it.each(["send-verification", "verify-email", "change-email", "forgot-password", "reset-password"])(
    "answer 404 with MAIL=off: %s",
    async (path) => {
      service = await startService();
      expect((await post(path, {})).json["code"]).toBe("not_found");
    },
  );

  it("write mails into the log with MAIL=log", async () => {
    service = await startService({ MAIL: "log" });
    await service.register();
    await post("send-verification", {}, await service.session());
    const link = `http://localhost:${service.port}/#verify=`;
    expect(service.logLines.some((line) => line.includes(link))).toBe(true);
  });

  it("mail one address three times an hour, alike with and without an account, and one caller ten times", async () => {
    service = await startService({ MAIL: "log", RATE_LIMIT_FAILURE: "local", RATE_LIMIT_LOCAL: "login.ip=100/minute" });
    service.advance(3_600_000 - (Date.now() % 3_600_000)); // The start of a window.
    await service.register();
    const ask = async (email: string): Promise<number> => (await post("forgot-password", { email })).status;
    for (const email of [USER.email, "unknown@x.com"]) {
      const statuses = [await ask(email), await ask(email), await ask(email), await ask(email)];
      expect(statuses).toEqual([200, 200, 200, 429]);
    }
    const others: number[] = [];
    for (const name of ["c", "d", "e", "f", "g"]) others.push(await ask(`${name}@x.com`));
    expect(others).toEqual([200, 200, 200, 200, 429]);
  });

  it("keep of a token its hash only", async () => {
    const server = await MailServer.start();
    service = await startService({ MAIL: "smtp", SMTP_URL: server.url, MAIL_FROM: "a@example.com" });
    await service.register();
    await post("forgot-password", { email: USER.email });
    await eventually("the mail", () => expect(server.mails).toHaveLength(1));
    const token = tokenOf(server, "reset");
    const files = ["accounts.sqlite", "accounts.sqlite-wal"].map((name) => readFileSync(join(service.directory, name)));
    expect(files.some((bytes) => bytes.includes("mail_tokens") || bytes.includes('"purpose":"reset"'))).toBe(true);
    expect(files.some((bytes) => bytes.includes(token))).toBe(false);
    expect(service.logLines.some((line) => line.includes(token))).toBe(false);
    await server.stop();
  });
});
