// The spec in a RateLimitConfigRevision: as it is, or compressed when it is large.
import { gunzipSync, gzipSync } from "node:zlib";

/**
 * Longest spec that is written as it is, in bytes of JSON. The API server adds the fields that a writer
 * owns, for each rule several times its length, and etcd takes 1.5 MiB.
 */
export const PLAIN_MAX_BYTES = 128 * 1024;

/** Longest spec that is read, in bytes of JSON: the longest request that the API server takes. */
export const SPEC_MAX_BYTES = 3 * 1024 * 1024;

/** The field of a revision that has its spec: exactly one of them. */
export type RevisionContent = { readonly spec: unknown } | { readonly compressedSpec: string };

/** The field for a spec: `spec`, or `compressedSpec` with its JSON as gzip in base64. */
export function revisionContent(spec: unknown): RevisionContent {
  const text = JSON.stringify(spec ?? null);
  if (Buffer.byteLength(text) <= PLAIN_MAX_BYTES) return { spec };
  return { compressedSpec: gzipSync(text).toString("base64") };
}

/**
 * The spec in the content of a revision; undefined when that has none, also because what it has cannot be
 * decompressed or is longer than `SPEC_MAX_BYTES`: a user may have written it.
 */
export function specOfRevision({ spec, compressedSpec }: Readonly<Record<string, unknown>>): unknown {
  if (spec !== undefined || typeof compressedSpec !== "string") return spec;
  try {
    const text = gunzipSync(Buffer.from(compressedSpec, "base64"), { maxOutputLength: SPEC_MAX_BYTES });
    return JSON.parse(text.toString()) as unknown;
  } catch {
    return undefined; // The same as a spec that is not valid: the revision is not used.
  }
}
