import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keysOfFile, keysOfSecrets } from "./key-ring.ts";
import { publicKeySet } from "./key-set.ts";

const SECRET = "a secret of the refresh tokens, 32 bytes";

function pemOf(type: "ec" | "ed25519"): string {
  const encoding = {
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  } as const;
  if (type === "ed25519") return generateKeyPairSync("ed25519", encoding).privateKey;
  return generateKeyPairSync("ec", { namedCurve: "P-256", ...encoding }).privateKey;
}

describe("publicKeySet()", () => {
  it("has each key that verifies, the coming one too, with its public members alone", () => {
    const [now, next] = [pemOf("ec"), pemOf("ed25519")];
    const publicNext = createPublicKey(createPrivateKey(next)).export({ type: "spki", format: "pem" });
    const file = [
      { kid: "now", use: "access", alg: "ES256", key: now, state: "sign" },
      { kid: "next", use: "access", alg: "Ed25519", key: publicNext, state: "verify" },
      { kid: "gone", use: "access", alg: "ES256", key: pemOf("ec"), state: "retired" },
      { kid: "refresh", use: "refresh", alg: "HS256", key: SECRET, state: "sign" },
    ];
    const result = keysOfFile(JSON.stringify(file));
    if (!result.ok) throw new Error(result.problems.join());
    const { keys } = publicKeySet(result.keys.access);
    expect(keys.map((key) => [key.kid, key.alg, key.use, key.kty, key.crv])).toEqual([
      ["now", "ES256", "sig", "EC", "P-256"],
      ["next", "Ed25519", "sig", "OKP", "Ed25519"],
    ]);
    expect(keys.map((key) => Object.keys(key))).toEqual([
      ["kid", "alg", "use", "kty", "crv", "x", "y"],
      ["kid", "alg", "use", "kty", "crv", "x"],
    ]);
    const { x, y } = createPublicKey(createPrivateKey(now)).export({ format: "jwk" });
    expect([keys[0]?.x, keys[0]?.y]).toEqual([x, y]);
  });

  it("is empty with secrets, which would let their readers sign", () => {
    expect(publicKeySet(keysOfSecrets(SECRET, `${SECRET}, another`).access)).toEqual({ keys: [] });
  });
});
