import { describe, expect, it } from "vitest";
import { parseSettings } from "./settings.ts";

const SMTP = { MAIL: "smtp", SMTP_URL: "smtp://u:p@mail.example.com:587", MAIL_FROM: "Example <a@example.com>" };
const PRODUCTION = {
  ...{ NODE_ENV: "production", ALLOW_EMBEDDED: "true", PUBLIC_ORIGIN: "https://account.example.com" },
  ...{
    ACCESS_TOKEN_SECRET: "an access secret of some 32 bytes",
    REFRESH_TOKEN_SECRET: "a refresh secret of some 32 bytes",
  },
  ACCOUNT_LABEL_SECRET: "a label secret of at least 32 bytes",
};

describe("the settings of mail", () => {
  it("are off by default", () => {
    expect(parseSettings({}).mail).toEqual({ kind: "off" });
  });

  it("need TLS in production, and https for links", () => {
    expect(parseSettings({ ...SMTP }).mail).toMatchObject({ kind: "smtp", requireTls: false });
    const settings = parseSettings({ ...PRODUCTION, ...SMTP, MAIL_LINK_URL: "https://app.example.com/" });
    expect(settings.mail).toMatchObject({ kind: "smtp", requireTls: true, linkUrl: "https://app.example.com/" });
  });

  it.each([
    { env: SMTP, linkUrl: undefined }, // The page of the service, wherever it listens.
    { env: { ...SMTP, PUBLIC_ORIGIN: "http://localhost:8000" }, linkUrl: "http://localhost:8000/" },
    { env: { ...PRODUCTION, ...SMTP, PAGE: "true" }, linkUrl: "https://account.example.com/" },
    { env: { ...SMTP, MAIL_LINK_URL: "http://localhost:3000/" }, linkUrl: "http://localhost:3000/" },
  ])("let links lead to $linkUrl", ({ env, linkUrl }) => {
    expect(parseSettings(env).mail).toMatchObject({ linkUrl });
  });

  it.each([
    { env: { ...SMTP, PAGE: "false" }, problem: /MAIL_LINK_URL/ },
    { env: { ...PRODUCTION, MAIL: "log", MAIL_LINK_URL: "https://app.example.com/" }, problem: /MAIL.*log/ },
    { env: { ...PRODUCTION, ...SMTP }, problem: /MAIL_LINK_URL/ },
    { env: { MAIL: "smtp", MAIL_FROM: "a@example.com" }, problem: /SMTP_URL/ },
    { env: { ...SMTP, SMTP_URL: "https://mail.example.com" }, problem: /SMTP_URL/ },
    { env: { ...SMTP, SMTP_URL: "smtp://u:100%@mail.example.com" }, problem: /SMTP_URL.*percent-encoded/ },
    { env: { ...SMTP, SMTP_URL: "smtp://%ff:p@mail.example.com" }, problem: /SMTP_URL.*percent-encoded/ },
    { env: { MAIL: "smtp", SMTP_URL: SMTP.SMTP_URL }, problem: /MAIL_FROM/ },
    { env: { ...SMTP, MAIL_FROM: "Example" }, problem: /MAIL_FROM/ },
    { env: { ...SMTP, MAIL_LINK_URL: "https://app.example.com/#a" }, problem: /MAIL_LINK_URL/ },
  ])("refuse $problem", ({ env, problem }) => {
    expect(() => parseSettings(env)).toThrow(problem);
  });
});
