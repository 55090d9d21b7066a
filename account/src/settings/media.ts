// The settings of the media store: a folder of this machine, or a bucket of S3.
import type { EnvReader } from "@weir/common/settings/read-env";
import type { S3MediaOptions } from "../media/s3/s3-media-store.ts";

/** Names of buckets: no part of one can change the meaning of a URL. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** The store of avatars. */
export type MediaSettings =
  /** `publicUrl` undefined: served by this service under /media/. */
  { readonly kind: "local"; readonly publicUrl: string | undefined } | ({ readonly kind: "s3" } & S3MediaOptions);

/** Reads them. */
export function readMedia(read: EnvReader, isProduction: boolean): MediaSettings {
  const kind = read.oneOf("MEDIA", {
    default: "local",
    choices: ["local", "s3"],
    effect: "Where avatars are kept: local is a folder in DATA_DIR, served under /media/; s3 is a bucket.",
  });
  const publicUrl = readUrl(read, "MEDIA_PUBLIC_URL", {
    effect:
      "URL in front of the keys of avatars, ending in a slash; not set, PUBLIC_ORIGIN with /media/, and with MEDIA=s3 that of the bucket. Needed with S3_ENDPOINT and NODE_ENV=production. Answers have the URL of today.",
    endsInSlash: true,
  });
  const s3 = readS3(read, kind === "s3", publicUrl);
  if (kind === "local") return { kind, publicUrl };
  if (isProduction && s3.endpoint !== undefined && publicUrl === undefined) {
    const allowed =
      "the URL in front of keys for browsers, with S3_ENDPOINT and NODE_ENV=production: they may not reach that of this service";
    read.problem("MEDIA_PUBLIC_URL", undefined, allowed);
  }
  return { kind, ...s3 };
}

function readS3(read: EnvReader, isUsed: boolean, publicUrl: string | undefined): S3MediaOptions {
  const endpoint = readUrl(read, "S3_ENDPOINT", {
    effect:
      "With MEDIA=s3: URL of a server with the protocol of S3, addressed as endpoint/bucket/key; not set, S3 itself.",
    endsInSlash: false,
  });
  const bucket = read.optionalString("S3_BUCKET", { effect: "With MEDIA=s3: name of the bucket, which must exist." });
  if (isUsed && (bucket === undefined || !BUCKET.test(bucket)))
    read.problem("S3_BUCKET", bucket, "the name of a bucket, with MEDIA=s3: 3 to 63 of a-z, 0-9, . and -");
  const region = read.string("S3_REGION", { default: "us-east-1", effect: "With MEDIA=s3: region of the bucket." });
  const credentials = readCredentials(read, isUsed);
  const base =
    endpoint === undefined
      ? `https://${bucket ?? ""}.s3.${region}.amazonaws.com/`
      : `${endpoint.replace(/\/$/, "")}/${bucket ?? ""}/`;
  return { endpoint, bucket: bucket ?? "", region, credentials, publicUrl: publicUrl ?? base };
}

function readCredentials(read: EnvReader, isUsed: boolean): S3MediaOptions["credentials"] {
  const accessKeyId = read.secret("S3_ACCESS_KEY_ID", {
    effect:
      "With MEDIA=s3: access key; without it and the next, the default chain of the AWS SDK, such as a role of the pod.",
  });
  const secretAccessKey = read.secret("S3_SECRET_ACCESS_KEY", {
    effect: "With MEDIA=s3: secret of the access key.",
  });
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey };
  if (isUsed && accessKeyId !== secretAccessKey) {
    const missing = accessKeyId === undefined ? "S3_ACCESS_KEY_ID" : "S3_SECRET_ACCESS_KEY";
    read.problem(missing, undefined, "set, because the other half of the access key is");
  }
  return undefined;
}

function readUrl(
  read: EnvReader,
  name: string,
  { effect, endsInSlash }: { readonly effect: string; readonly endsInSlash: boolean },
): string | undefined {
  const text = read.optionalString(name, { effect });
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isPlain = url !== null && url.username === "" && url.search === "" && url.hash === "";
  if (!isPlain || !/^https?:$/.test(url.protocol) || (endsInSlash && !text.endsWith("/"))) {
    const allowed = `an http or https URL without user, query and fragment${endsInSlash ? " that ends in a slash" : ""}`;
    read.problem(name, url?.username === "" ? text : undefined, allowed);
  }
  return text;
}
