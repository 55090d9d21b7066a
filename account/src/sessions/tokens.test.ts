import { createHmac, createPublicKey, createSecretKey, generateKeyPairSync } from "node:crypto";
import { SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { keysOfFile, keysOfSecrets, type TokenKeys } from "./key-ring.ts";
import { type AccessClaims, createTokens, type Tokens } from "./tokens.ts";

const NOW_MS = 1_800_000_000_000;
const NOW = NOW_MS / 1000;
const ACCESS_SECRET = "access-secret-of-at-least-32-bytes";
const KEYS = keysOfSecrets(ACCESS_SECRET, "refresh-secret-of-at-least-32-byte");
const KEY = KEYS.access.signing;
const OPTIONS = { issuer: "weir-account", accessTtlMs: 600_000, refreshMaxMs: 2_592_000_000 };
const CLAIMS: AccessClaims = {
  userId: "u",
  sessionId: "s",
  tokenId: "t",
  issuedAtSeconds: NOW,
  expiresAtSeconds: NOW + 600,
};
const RAW = { iss: "weir-account", aud: "weir-account", sub: "u", sid: "s", jti: "t", iat: NOW, exp: NOW + 600 };

function tokensOf(keys: TokenKeys = KEYS): Tokens {
  return createTokens(() => keys, OPTIONS);
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token with the real key and whatever header and payload. */
function forge(header: object, payload: object): string {
  const text = `${encode({ alg: "HS256", kid: KEY.id, typ: "at+jwt", ...header })}.${encode(payload)}`;
  return `${text}.${createHmac("sha256", KEY.key).update(text).digest("base64url")}`;
}

async function reasonOf(token: string, nowMs = NOW_MS): Promise<string> {
  const check = await tokensOf().verifyAccess(token, nowMs);
  return check.ok ? "ok" : check.reason;
}

describe("verifyAccess()", () => {
  it("gives the claims of a token it signed", async () => {
    const token = await tokensOf().signAccess(CLAIMS);
    expect(await tokensOf().verifyAccess(token, NOW_MS)).toEqual({ ok: true, claims: CLAIMS });
  });

  it("accepts a token that is put together by hand like its own", async () => {
    expect(await reasonOf(forge({}, RAW))).toBe("ok");
  });

  it.each(["none", "nOnE"])("refuses alg %s", async (alg) => {
    expect(await reasonOf(`${encode({ alg, kid: KEY.id, typ: "at+jwt" })}.${encode(RAW)}.`)).toBe("invalid");
  });

  it("refuses HS256 with the public key as secret", async () => {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = pair.privateKey.export({ type: "pkcs8", format: "pem" });
    const publicPem = createPublicKey(pem).export({ type: "spki", format: "pem" });
    const refresh = {
      kid: "r",
      use: "refresh",
      alg: "HS256",
      key: "refresh-secret-of-at-least-32-byte",
      state: "sign",
    };
    const result = keysOfFile(
      JSON.stringify([{ kid: "a", use: "access", alg: "ES256", key: pem, state: "sign" }, refresh]),
    );
    if (!result.ok) throw new Error(result.problems.join());
    const tokens = tokensOf(result.keys);
    const forged = await new SignJWT(RAW)
      .setProtectedHeader({ alg: "HS256", kid: "a", typ: "at+jwt" })
      .sign(createSecretKey(publicPem, "utf8"));
    expect(await tokens.verifyAccess(forged, NOW_MS)).toEqual({ ok: false, reason: "invalid" });
    expect((await tokens.verifyAccess(await tokens.signAccess(CLAIMS), NOW_MS)).ok).toBe(true);
  });

  it("refuses RS256 by a fresh key", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    expect(
      await reasonOf(
        await new SignJWT(RAW).setProtectedHeader({ alg: "RS256", kid: KEY.id, typ: "at+jwt" }).sign(privateKey),
      ),
    ).toBe("invalid");
  });

  it("refuses a changed payload under the old signature", async () => {
    const [header, , signature] = forge({}, RAW).split(".");
    expect(await reasonOf(`${String(header)}.${encode({ ...RAW, sub: "other" })}.${String(signature)}`)).toBe(
      "invalid",
    );
  });

  it.each([
    { secondsAgo: 3, reason: "ok" },
    { secondsAgo: 10, reason: "expired" },
  ])("answers $reason for a token that ended $secondsAgo s ago", async ({ secondsAgo, reason }) => {
    expect(await reasonOf(forge({}, { ...RAW, iat: NOW - 60, exp: NOW - secondsAgo }))).toBe(reason);
  });

  it.each([
    { name: "another audience", change: { aud: "other" } },
    { name: "a list of other audiences", change: { aud: ["other"] } },
    { name: "a list that holds ours", change: { aud: ["weir-account", "other"] } },
    { name: "another issuer", change: { iss: "https://evil" } },
    { name: "no exp", change: { exp: undefined } },
    { name: "no sub", change: { sub: undefined } },
    { name: "no sid", change: { sid: undefined } },
    { name: "no jti", change: { jti: undefined } },
    { name: "an empty sub", change: { sub: "" } },
    { name: "a sid that is no text", change: { sid: 7 } },
    { name: "an iat that is no number", change: { iat: "soon" } },
  ])("refuses $name", async ({ change }) => {
    expect(await reasonOf(forge({}, { ...RAW, ...change }))).toBe("invalid");
  });

  // Of a replica whose clock is ahead.
  it.each([
    { name: "iat in a minute", change: { iat: NOW + 60 }, reason: "ok" },
    { name: "nbf in a minute", change: { nbf: NOW + 60 }, reason: "ok" },
    { name: "iat in 61 s", change: { iat: NOW + 61 }, reason: "early" },
    { name: "nbf in 61 s", change: { nbf: NOW + 61 }, reason: "early" },
  ])("answers $reason for $name", async ({ change, reason }) => {
    expect(await reasonOf(forge({}, { ...RAW, ...change }))).toBe(reason);
  });

  it("refuses a token older than access tokens get, whatever its exp", async () => {
    expect(await reasonOf(forge({}, { ...RAW, iat: NOW - 700 }))).toBe("expired");
  });

  it.each([
    { name: "no key id", header: { kid: undefined } },
    { name: "a path as key id", header: { kid: "../../dev/null" } },
    { name: "SQL as key id", header: { kid: "' OR 1=1" } },
    { name: "a key id of 10 KB", header: { kid: "k".repeat(10_240) } },
    { name: "an unknown critical header", header: { crit: ["x"], x: 1 } },
    { name: "another type", header: { typ: "JWT" } },
    { name: "no type", header: { typ: undefined } },
  ])("refuses $name", async ({ header }) => {
    expect(await reasonOf(forge(header, RAW))).toBe("invalid");
  });

  it("ignores keys and addresses of keys in the header", async () => {
    const attacker = createSecretKey(Buffer.alloc(32, 7));
    const header = {
      alg: "HS256",
      kid: "evil",
      typ: "at+jwt",
      jwk: { kty: "oct", k: Buffer.alloc(32, 7).toString("base64url") },
      jku: "http://127.0.0.1:9/k",
    };
    const text = `${encode(header)}.${encode(RAW)}`;
    expect(await reasonOf(`${text}.${createHmac("sha256", attacker).update(text).digest("base64url")}`)).toBe(
      "invalid",
    );
  });

  it("refuses tokens of the other use", async () => {
    const tokens = tokensOf();
    const refresh = await tokens.signRefresh({ ...CLAIMS, generation: 0 });
    const access = await tokens.signAccess(CLAIMS);
    expect(await tokens.verifyAccess(refresh, NOW_MS)).toEqual({ ok: false, reason: "invalid" });
    expect(await tokens.verifyRefresh(access, NOW_MS)).toEqual({ ok: false, reason: "invalid" });
  });

  it("follows the active keys", async () => {
    const token = await tokensOf().signAccess(CLAIMS);
    const next = keysOfSecrets("next-access-secret-of-32-bytes-min", "next-refresh-secret-32-bytes-min-x");
    const both: TokenKeys = {
      ...next,
      access: {
        signing: next.access.signing,
        verifying: new Map([...next.access.verifying, ...KEYS.access.verifying]),
      },
    };
    let keys = both;
    const tokens = createTokens(() => keys, OPTIONS);
    expect((await tokens.verifyAccess(token, NOW_MS)).ok).toBe(true);
    keys = next;
    expect(await tokens.verifyAccess(token, NOW_MS)).toEqual({ ok: false, reason: "invalid" });
  });

  it.each(["", "a.b.c", "a.b.c.d.e", "....", "e30.e30.", "\u0000", "%%%.%%%.%%%"])("refuses %j", async (token) => {
    expect(await reasonOf(token)).toBe("invalid");
  });
});

describe("verifyRefresh()", () => {
  it("gives the claims with the generation", async () => {
    const claims = { ...CLAIMS, generation: 3, expiresAtSeconds: NOW + 604_800 };
    const token = await tokensOf().signRefresh(claims);
    expect(await tokensOf().verifyRefresh(token, NOW_MS)).toEqual({ ok: true, claims });
  });

  it("signs the same text for the same claims, so that a lost answer can be repeated", async () => {
    const claims = { ...CLAIMS, generation: 3 };
    expect(await tokensOf().signRefresh(claims)).toBe(await tokensOf().signRefresh(claims));
  });
});
