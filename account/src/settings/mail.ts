// The settings of mail.
import type { EnvReader } from "@weir/common/settings/read-env";
import type { MailSettings } from "../mail/mailer.ts";

/** The other settings that those of mail depend on. */
export interface MailSurroundings {
  readonly isProduction: boolean;
  /** True if the service serves a page of its own. */
  readonly hasPage: boolean;
  readonly publicOrigin: string | undefined;
}

/** Reads them; what is fit for development only is refused in production. */
export function readMail(read: EnvReader, { isProduction, hasPage, publicOrigin }: MailSurroundings): MailSettings {
  const kind = read.oneOf("MAIL", {
    default: "off",
    choices: ["off", "log", "smtp"],
    effect:
      "How mails are sent: smtp over SMTP_URL; log writes them into the log, refused with NODE_ENV=production; off not at all, and the calls that need mail answer 404.",
  });
  const url = read.secret("SMTP_URL", {
    effect:
      "With MAIL=smtp: server, as smtp://user:password@host:587 or smtps://host:465. With NODE_ENV=production smtp must offer STARTTLS.",
  });
  const from = read.optionalString("MAIL_FROM", {
    effect: "With MAIL=smtp: sender of mails, such as Example <accounts@example.com>.",
  });
  const set = read.optionalString("MAIL_LINK_URL", {
    effect:
      "Page that links in mails lead to; the token is in its fragment, as #verify=… or #reset=…. Not set, with PAGE the page of the service, which needs PUBLIC_ORIGIN with NODE_ENV=production.",
  });
  if (kind === "off") return { kind };
  if (kind === "log" && isProduction) read.problem("MAIL", kind, "smtp or off with NODE_ENV=production");
  // In development the page is at the address of the listener, which is known once it listens.
  const linkUrl = set ?? (hasPage && publicOrigin !== undefined ? `${publicOrigin}/` : undefined);
  const isOwn = linkUrl === undefined && hasPage && !isProduction;
  const page = linkUrl === undefined ? null : URL.parse(linkUrl);
  const isPage =
    page !== null && page.hash === "" && (page.protocol === "https:" || (page.protocol === "http:" && !isProduction));
  if (!isPage && !isOwn)
    read.problem("MAIL_LINK_URL", linkUrl, "an https URL without fragment, with MAIL; http only in development");
  if (kind === "log") return { kind, linkUrl };
  if (url === undefined || !isServerUrl(url.reveal()))
    read.problem(
      "SMTP_URL",
      undefined,
      "smtp://host:port or smtps://host:port; user and password, if needed, are percent-encoded",
    );
  if (from === undefined || !/^[^\r\n<>@]*<?[^\s<>@]+@[^\s<>@]+>?$/.test(from))
    read.problem("MAIL_FROM", from, "an e-mail address, or Name <address>, with MAIL=smtp");
  if (url === undefined || from === undefined) return { kind: "off" }; // The problems end the start.
  return { kind, url, from, linkUrl, requireTls: isProduction };
}

function isServerUrl(text: string): boolean {
  const url = /^smtps?:\/\/[^/?#]+\/?$/.test(text) ? URL.parse(text) : null;
  return url !== null && isPercentEncoded(url.username) && isPercentEncoded(url.password);
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false; // Its only error is a "%" that begins no UTF-8 character.
  }
}
