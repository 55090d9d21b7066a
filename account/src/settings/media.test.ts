import { SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";
import { parseSettings } from "./settings.ts";

const S3 = { MEDIA: "s3", S3_BUCKET: "avatars" };

/** The other settings that production needs. */
const PRODUCTION = {
  NODE_ENV: "production",
  ALLOW_EMBEDDED: "true",
  ACCESS_TOKEN_SECRET: "Zk3xR2mN7pL4cJ9hB6sD1gF0aE-yU_tO",
  REFRESH_TOKEN_SECRET: "q8WxR2mN7pL4cJ9hB6sD1gF0aE-yU_tO",
  ACCOUNT_LABEL_SECRET: "v5TxR2mN7pL4cJ9hB6sD1gF0aE-yU_tO",
  PUBLIC_ORIGIN: "https://account.example.com",
};

function mediaOf(env: Readonly<Record<string, string>>): unknown {
  return parseSettings(env).media;
}

function problems(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    parseSettings(env);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.flatMap(({ name }) => name);
  }
}

describe("readMedia()", () => {
  it("takes a folder of this machine by default", () => {
    expect(mediaOf({})).toEqual({ kind: "local", publicUrl: undefined });
  });

  it.each([
    {
      name: "S3 itself",
      env: { S3_REGION: "eu-central-1" },
      endpoint: undefined,
      publicUrl: "https://avatars.s3.eu-central-1.amazonaws.com/",
    },
    {
      name: "another server",
      env: { S3_ENDPOINT: "http://127.0.0.1:9000/" },
      endpoint: "http://127.0.0.1:9000/",
      publicUrl: "http://127.0.0.1:9000/avatars/",
    },
    {
      name: "a bucket behind a cache",
      env: { S3_ENDPOINT: "http://127.0.0.1:9000", MEDIA_PUBLIC_URL: "https://media.example.com/" },
      endpoint: "http://127.0.0.1:9000",
      publicUrl: "https://media.example.com/",
    },
  ])("gives the public URL of $name", ({ env, endpoint, publicUrl }) => {
    expect(mediaOf({ ...S3, ...env })).toMatchObject({ kind: "s3", bucket: "avatars", endpoint, publicUrl });
  });

  it("leaves credentials to the SDK unless both halves are set, and never prints them", () => {
    expect(mediaOf(S3)).toMatchObject({ region: "us-east-1", credentials: undefined });
    const settings = parseSettings({ ...S3, S3_ACCESS_KEY_ID: "id", S3_SECRET_ACCESS_KEY: "hidden-value" });
    expect(JSON.stringify(settings)).not.toContain("hidden-value");
    expect(settings.media.kind === "s3" && settings.media.credentials?.secretAccessKey.reveal()).toBe("hidden-value");
  });

  it.each([
    { name: "no bucket", env: { MEDIA: "s3" }, names: ["S3_BUCKET"] },
    { name: "a bucket with a slash", env: { ...S3, S3_BUCKET: "a/../b" }, names: ["S3_BUCKET"] },
    { name: "half an access key", env: { ...S3, S3_ACCESS_KEY_ID: "id" }, names: ["S3_SECRET_ACCESS_KEY"] },
    { name: "the other half", env: { ...S3, S3_SECRET_ACCESS_KEY: "x" }, names: ["S3_ACCESS_KEY_ID"] },
    { name: "an endpoint that is no URL", env: { ...S3, S3_ENDPOINT: "minio:9000" }, names: ["S3_ENDPOINT"] },
    { name: "an endpoint with a user", env: { ...S3, S3_ENDPOINT: "http://u:p@minio" }, names: ["S3_ENDPOINT"] },
    {
      name: "a public URL without slash",
      env: { ...S3, MEDIA_PUBLIC_URL: "https://cdn.example.com" },
      names: ["MEDIA_PUBLIC_URL"],
    },
    {
      name: "a server of one's own in production without the URL for browsers",
      env: { ...S3, ...PRODUCTION, S3_ENDPOINT: "http://minio:9000" },
      names: ["MEDIA_PUBLIC_URL"],
    },
    { name: "another store", env: { MEDIA: "ftp" }, names: ["MEDIA"] },
  ])("refuses $name", ({ env, names }) => {
    expect(problems(env)).toEqual(names);
  });

  it("takes a bucket in production, and warns of users on this machine only", () => {
    const ownServer = { S3_ENDPOINT: "http://minio:9000", MEDIA_PUBLIC_URL: "https://media.example.com/" };
    for (const env of [S3, { ...S3, ...ownServer }]) expect(problems({ ...env, ...PRODUCTION })).toEqual([]);
    expect(parseSettings(S3).warnings).toContain(
      "users are kept in DATA_DIR on this machine, which is not for production",
    );
  });
});
