// Sends mails: over SMTP, or for development into the log.
import type { Log } from "@weir/common/log/log";
import type { Secret } from "@weir/common/settings/secret";
import { AccountError } from "../errors.ts";

/** Longest waits for the server, in milliseconds: for a connection, its greeting, and each answer. */
const CONNECT_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 10_000;

/** Longest time to send one mail, in milliseconds, with the wait for a connection: a server may answer slowly many times. */
const SEND_TIMEOUT_MS = 20_000;

/** Connections to the server at a time. */
const CONNECTIONS_MAX = 4;

/** Seconds after which callers may try again. */
const RETRY_AFTER_SECONDS = 10;

/** A mail in plain text. */
export interface Mail {
  /** A checked address. */
  readonly to: string;
  readonly subject: string;
  /** Without the address. */
  readonly text: string;
}

/** How mails are sent. */
export type MailSettings =
  | { readonly kind: "off" }
  | { readonly kind: "log"; readonly linkUrl: string | undefined }
  | {
      readonly kind: "smtp";
      /** `smtp` or `smtps`, with user and password if the server wants them. */
      readonly url: Secret;
      readonly from: string;
      /** Undefined: the page of the service. */
      readonly linkUrl: string | undefined;
      /** True if `smtp` must become TLS before anything is sent. */
      readonly requireTls: boolean;
    };

/** Sends mails. */
export interface Mailer {
  /** Resolves when the server has taken the mail; rejects with `mail_unavailable`. */
  send(mail: Mail): Promise<void>;
  /** Ends the connections. */
  close(): void;
}

/** The mailer of the settings; undefined when mail is off. A mail that is not sent in `sendTimeoutMs` is given up. */
export async function createMailer(
  settings: MailSettings,
  log: Log,
  sendTimeoutMs = SEND_TIMEOUT_MS,
): Promise<Mailer | undefined> {
  switch (settings.kind) {
    case "off":
      return undefined;
    case "log":
      return {
        send({ subject, text }) {
          log.info("Mail, not sent", { subject, text });
          return Promise.resolve();
        },
        close: () => undefined,
      };
    case "smtp":
      return smtpMailer(settings, sendTimeoutMs);
  }
}

async function smtpMailer(
  { url, from, requireTls }: Extract<MailSettings, { readonly kind: "smtp" }>,
  sendTimeoutMs: number,
): Promise<Mailer> {
  const { createTransport } = await import("nodemailer");
  const { protocol, hostname, port, username, password } = new URL(url.reveal());
  const secure = protocol === "smtps:";
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: requireTls,
    ...(username !== "" && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: CONNECTIONS_MAX,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }) {
      try {
        const signal = AbortSignal.timeout(sendTimeoutMs); // Ends the connection, too.
        await transport.sendMail({ from, to: { name: "", address: to }, subject, text, signal });
      } catch (cause) {
        throw new AccountError("mail_unavailable", "The mail cannot be sent now. Try again shortly.", {
          cause: withoutAddress(cause, to),
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      }
    },
    close: () => transport.close(),
  };
}

/** Servers repeat the address in their answers, and the log must not have it. */
function withoutAddress(error: unknown, address: string): Error {
  const text = error instanceof Error ? error.message : String(error);
  return new Error(text.replaceAll(address, "…").replaceAll(/[^\s<>]+@[^\s<>]+/g, "…"));
}
