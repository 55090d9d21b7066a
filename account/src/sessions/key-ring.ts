// The keys that sign and verify tokens, from secrets or from the text of a key file. Pure;
// key-source.ts reads and watches the file.
import { createHmac, createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from "node:crypto";
import { z } from "zod";
import { faultOfSecret, SECRET_MIN_BYTES } from "./secret-fault.ts";

/** Most keys of a key file: two uses with a handful of generations each. */
const KEYS_MAX = 32;

/** Algorithms a key may have. One family is active per use at any time. */
export type TokenAlgorithm = "HS256" | "ES256" | "Ed25519";

/** A key that verifies tokens. */
export interface VerifyKey {
  readonly id: string;
  readonly algorithm: TokenAlgorithm;
  readonly key: KeyObject;
}

/**
 * The keys of one use: the one that signs, and by id all that verify (the signing one among them).
 */
export interface KeyRing {
  readonly signing: VerifyKey;
  readonly verifying: ReadonlyMap<string, VerifyKey>;
}

/**
 * The keys of both uses. The refresh ring is always symmetric: only this service reads refresh
 * tokens.
 */
export interface TokenKeys {
  readonly access: KeyRing;
  readonly refresh: KeyRing;
}

/** Keys, or everything that is wrong with their text. */
export type KeysResult =
  { readonly ok: true; readonly keys: TokenKeys } | { readonly ok: false; readonly problems: readonly string[] };

const keyFileSchema = z
  .array(
    z.strictObject({
      kid: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, "must be 1 to 64 letters, digits, dots, dashes or underscores"),
      use: z.enum(["access", "refresh"]),
      alg: z.enum(["HS256", "ES256", "Ed25519"]),
      key: z.string(),
      state: z.enum(["verify", "sign", "retired"]),
    }),
  )
  .max(KEYS_MAX);

type KeyFileEntry = z.infer<typeof keyFileSchema>[number];

/** Keys from two secrets, as ACCESS_TOKEN_SECRET and REFRESH_TOKEN_SECRET give them. */
export function keysOfSecrets(accessSecret: string, refreshSecret: string): TokenKeys {
  return { access: ringOfSecret(accessSecret), refresh: ringOfSecret(refreshSecret) };
}

/** Keys from the text of a key file: a JSON list of `{kid, use, alg, key, state}`. */
export function keysOfFile(text: string): KeysResult {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { ok: false, problems: ["the file is not JSON"] }; // The parser's own message would quote key material.
  }
  const parsed = keyFileSchema.safeParse(json);
  if (!parsed.success) {
    return {
      ok: false,
      problems: parsed.error.issues.map((issue) => `${z.core.toDotPath(issue.path) || "the file"}: ${issue.message}`),
    };
  }
  const problems: string[] = [];
  const access = ringOfEntries("access", parsed.data, problems);
  const refresh = ringOfEntries("refresh", parsed.data, problems);
  const repeated = parsed.data.filter(
    (entry, index) => parsed.data.findIndex((other) => other.key === entry.key) !== index,
  );
  for (const entry of repeated) problems.push(`key "${entry.kid}" has the same key as an earlier entry`);
  if (problems.length > 0 || access === undefined || refresh === undefined) return { ok: false, problems };
  return { ok: true, keys: { access, refresh } };
}

function ringOfSecret(secret: string): KeyRing {
  const key = createSecretKey(secret, "utf8");
  // The id follows from the secret, so that every replica with the secret gives it the same one; it
  // reveals nothing of the secret.
  const id = createHmac("sha256", key).update("key-id").digest("base64url").slice(0, 11);
  const signing: VerifyKey = { id, algorithm: "HS256", key };
  return { signing, verifying: new Map([[id, signing]]) };
}

function ringOfEntries(
  use: "access" | "refresh",
  entries: readonly KeyFileEntry[],
  problems: string[],
): KeyRing | undefined {
  const own = entries.filter((entry) => entry.use === use && entry.state !== "retired");
  const before = problems.length;
  const signers = own.filter((entry) => entry.state === "sign");
  if (signers.length !== 1)
    problems.push(`${signers.length} keys have use "${use}" and state "sign", exactly one must`);
  if (new Set(own.map((entry) => entry.kid)).size < own.length)
    problems.push(`two keys of use "${use}" have the same kid`);
  if (use === "refresh" && own.some((entry) => entry.alg !== "HS256"))
    problems.push('keys of use "refresh" must have alg "HS256"');
  if (own.some((entry) => (entry.alg === "HS256") !== (own[0]?.alg === "HS256"))) {
    problems.push(`keys of use "${use}" mix HS256 with a public-key algorithm`);
  }
  const loaded = own.map((entry) => ({ entry, keys: loadKey(entry, problems) }));
  const signer = loaded.find(({ entry }) => entry.state === "sign");
  if (problems.length > before || signer === undefined) return undefined;
  return {
    signing: { id: signer.entry.kid, algorithm: signer.entry.alg, key: signer.keys.sign },
    verifying: new Map(
      loaded.map(({ entry, keys }) => [entry.kid, { id: entry.kid, algorithm: entry.alg, key: keys.verify }]),
    ),
  };
}

/**
 * The key objects of an entry. A bad key adds a problem and gives an empty key that is never used.
 */
function loadKey(entry: KeyFileEntry, problems: string[]): { sign: KeyObject; verify: KeyObject } {
  const none = createSecretKey(Buffer.alloc(SECRET_MIN_BYTES));
  if (entry.alg === "HS256") {
    const fault = faultOfSecret(entry.key);
    if (fault !== undefined) {
      problems.push(`key "${entry.kid}" must be ${fault}`);
      return { sign: none, verify: none };
    }
    const key = createSecretKey(entry.key, "utf8");
    return { sign: key, verify: key };
  }
  try {
    const verify = createPublicKey(entry.key); // Also takes the private key and derives the public one.
    if (!isKeyOf(verify, entry.alg)) {
      problems.push(`key "${entry.kid}" is not a key for ${entry.alg}`);
      return { sign: none, verify: none };
    }
    return { sign: entry.state === "sign" ? createPrivateKey(entry.key) : none, verify };
  } catch {
    const kind = entry.state === "sign" ? "private key" : "private or public key";
    problems.push(`key "${entry.kid}" must be a ${kind} for ${entry.alg} in PEM`); // The cause could quote key material.
    return { sign: none, verify: none };
  }
}

function isKeyOf(key: KeyObject, algorithm: "ES256" | "Ed25519"): boolean {
  if (algorithm === "Ed25519") return key.asymmetricKeyType === "ed25519";
  return key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1";
}
