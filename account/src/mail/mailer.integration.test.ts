import type { Env } from "@weir/common/settings/read-env";
import { silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseSettings } from "../settings/settings.ts";
import { createMailer, type Mailer } from "./mailer.ts";
import { MailServer } from "./smtp-server.suite.ts";

const MAIL = { to: "ada@bücher.example", subject: "Grüße", text: "https://app.example.com/#reset=abc\n" };

describe("createMailer()", () => {
  let server: MailServer;
  let mailer: Mailer | undefined;

  beforeEach(async () => {
    server = await MailServer.start();
  });

  afterEach(async () => {
    mailer?.close();
    await server.stop();
  });

  async function open(env: Env = {}, { requireTls = false } = {}): Promise<Mailer> {
    const base = { MAIL: "smtp", SMTP_URL: server.url, MAIL_FROM: "Example <accounts@example.com>" };
    const { mail } = parseSettings({ ...base, ...env });
    mailer = await createMailer(mail.kind === "smtp" ? { ...mail, requireTls } : mail, silentLog());
    if (mailer === undefined) throw new Error("there is no mail");
    return mailer;
  }

  it("hands a mail to the server with the user and password of the URL, to a domain in ASCII form", async () => {
    await (await open()).send(MAIL);
    expect(server.mails).toHaveLength(1);
    expect(server.mails[0]?.from).toBe("accounts@example.com");
    expect(server.mails[0]?.text).toContain("To: ada@xn--bcher-kva.example\r\n");
    expect(server.mails[0]?.text).toContain("https://app.example.com/#reset=abc");
  });

  it("sends several mails at a time", async () => {
    const opened = await open();
    await Promise.all(Array.from({ length: 20 }, (_, at) => opened.send({ ...MAIL, to: `user-${at}@x.com` })));
    expect(new Set(server.mails.flatMap(({ to }) => to)).size).toBe(20);
  });

  it("rejects with mail_unavailable when the password is wrong", async () => {
    const opened = await open({ SMTP_URL: server.url.replace("p%40ss", "guess") });
    await expect(opened.send(MAIL)).rejects.toMatchObject({ code: "mail_unavailable", transient: true });
  });

  it("sends nothing to a server that does not offer STARTTLS when TLS is required", async () => {
    await expect((await open({}, { requireTls: true })).send(MAIL)).rejects.toMatchObject({ code: "mail_unavailable" });
    expect(server.mails).toEqual([]);
  });

  it("names no address in the reason of a failure", async () => {
    server.refusal = "no mailbox ada@xn--bcher-kva.example";
    const error: unknown = await (await open()).send(MAIL).catch((reason: unknown) => reason);
    expect(String((error as Error).cause)).toMatch(/no mailbox …/);
    expect(String((error as Error).cause)).not.toContain("@");
  });
});
