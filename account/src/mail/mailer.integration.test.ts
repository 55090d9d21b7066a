import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Env } from "@weir/common/settings/read-env";
import { silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseSettings } from "../settings/settings.ts";
import { parseEmail } from "../users/email.ts";
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

  it.each([
    { typed: "ada@BÜCHER.example", reached: "ada@xn--bcher-kva.example" },
    { typed: "ada@ｂücher.example", reached: "ada@xn--bcher-kva.example" },
    { typed: "ada@bu\u0308cher.example", reached: "ada@xn--bcher-kva.example" },
    { typed: "ada@straße.example", reached: "ada@xn--strae-oqa.example" },
    { typed: "ada@ＶＩＣＴＩＭ.example", reached: "ada@victim.example" },
  ])("reaches of $typed the domain under which accounts are compared", async ({ typed, reached }) => {
    expect(parseEmail(typed)?.key).toBe(reached);
    await (await open()).send({ ...MAIL, to: typed });
    expect(server.mails[0]?.text).toContain(`To: ${reached}\r\n`);
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

  it("gives up a mail, and ends its connection, when a server keeps answering without an end", async () => {
    const endless = createServer((socket: Socket) => {
      const line = setInterval(() => socket.write("220-wait\r\n"), 20);
      socket.on("error", () => undefined).on("close", () => clearInterval(line));
    });
    await once(endless.listen(0, "127.0.0.1"), "listening");
    const { port } = endless.address() as AddressInfo;
    const { mail } = parseSettings({ MAIL: "smtp", SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: "a@example.com" });
    mailer = await createMailer(mail, silentLog(), 200);
    const connected = once(endless, "connection") as Promise<[Socket]>;
    const sent = mailer?.send(MAIL);
    const [socket] = await connected;
    const closed = once(socket, "close");
    await expect(sent).rejects.toMatchObject({ code: "mail_unavailable", transient: true });
    await closed;
    endless.close();
  });

  it("names no address in the reason of a failure", async () => {
    server.refusal = "no mailbox ada@xn--bcher-kva.example";
    const error: unknown = await (await open()).send(MAIL).catch((reason: unknown) => reason);
    expect(String((error as Error).cause)).toMatch(/no mailbox …/);
    expect(String((error as Error).cause)).not.toContain("@");
  });
});
