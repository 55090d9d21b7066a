// Warnings about variables without effect, and about no other variables.
import { describe, expect, it } from "vitest";
import { findSettingWarnings } from "./setting-warnings.ts";
import { describeSettings } from "./settings.ts";

const STORAGE = { store: "embedded", media: "local", mail: "off" };

function warningsOf(names: readonly string[], storage = STORAGE): readonly string[] {
  const env = Object.fromEntries(names.map((name) => [name, "hidden-value"]));
  return findSettingWarnings(env, describeSettings(), storage).map(({ name, reason }) => `${name}: ${reason}`);
}

describe("findSettingWarnings()", () => {
  it.each([
    { name: "PUBLIC_ORIGINS", meant: "PUBLIC_ORIGIN" },
    { name: "CORS_ORIGIN", meant: "CORS_ORIGINS" },
    { name: "TLS_CLIENT_CA_CERT", meant: "TLS_CLIENT_CACERT" },
    { name: "AVATR_MAX_BYTE", meant: "AVATAR_MAX_BYTES" },
    { name: "REFRESH_TOKEN_SECRET_FILES", meant: "REFRESH_TOKEN_SECRET_FILE" },
  ])("findSettingWarnings() asks whether $meant is meant by $name", ({ name, meant }) => {
    expect(warningsOf([name])).toEqual([`${name}: unknown setting; is ${meant} meant?`]);
  });

  it("findSettingWarnings() reports settings of a store that is not chosen, sorted by name", () => {
    const names = ["SMTP_URL", "S3_BUCKET", "MONGODB_URI", "MAIL_FROM"];
    expect(warningsOf(names)).toEqual([
      "MAIL_FROM: it belongs to MAIL=smtp, and MAIL is off",
      "MONGODB_URI: it belongs to STORE=mongo, and STORE is embedded",
      "S3_BUCKET: it belongs to MEDIA=s3, and MEDIA is local",
      "SMTP_URL: it belongs to MAIL=smtp, and MAIL is off",
    ]);
    expect(warningsOf(names, { store: "mongo", media: "s3", mail: "smtp" })).toEqual([]);
  });

  it("findSettingWarnings() is silent about settings that have an effect, and about empty variables", () => {
    const names = describeSettings().flatMap(({ names: row }) => row);
    const own = names.filter((name) => !/^(MONGODB|S3|SMTP)_|^MAIL_FROM$/.test(name));
    expect(warningsOf([...own, "PASSWORD_PEPPER_FILE"])).toEqual([]);
    expect(findSettingWarnings({ PUBLIC_ORIGINS: "", LOG_LEVLE: undefined }, describeSettings(), STORAGE)).toEqual([]);
  });

  it("findSettingWarnings() is silent about variables of others", () => {
    const others = [
      ...["PATH", "HOME", "HOSTNAME", "NODE_OPTIONS", "SSL_CERT_FILE", "LOGNAME", "UV_USE_IO_URING"],
      ...["KUBERNETES_SERVICE_HOST", "PUBLIC_ORIGIN_PORT", "OTEL_EXPORTER_OTLP_ENDPOINT", "TRACESTATE", "TOKEN"],
    ];
    expect(warningsOf(others)).toEqual([]);
  });
});
