import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { keysOfFile, keysOfSecrets } from "./key-ring.ts";

const SECRET_A = "a-secret-of-at-least-32-bytes-aaaa";
const SECRET_B = "b-secret-of-at-least-32-bytes-bbbb";
const EC = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ED = generateKeyPairSync("ed25519");
const EC_PRIVATE = EC.privateKey.export({ type: "pkcs8", format: "pem" });
const EC_PUBLIC = EC.publicKey.export({ type: "spki", format: "pem" });
const ED_PRIVATE = ED.privateKey.export({ type: "pkcs8", format: "pem" });

const ACCESS = { kid: "a1", use: "access", alg: "HS256", key: SECRET_A, state: "sign" };
const REFRESH = { kid: "r1", use: "refresh", alg: "HS256", key: SECRET_B, state: "sign" };

function problems(entries: unknown): readonly string[] {
  const result = keysOfFile(JSON.stringify(entries));
  return result.ok ? [] : result.problems;
}

describe("keysOfSecrets()", () => {
  it("gives the same ids for the same secrets and others for others", () => {
    const first = keysOfSecrets(SECRET_A, SECRET_B);
    const second = keysOfSecrets(SECRET_A, SECRET_B);
    expect(second.access.signing.id).toBe(first.access.signing.id);
    expect(first.access.signing.id).not.toBe(first.refresh.signing.id);
    expect([...first.access.verifying.keys()]).toEqual([first.access.signing.id]);
  });
});

describe("keysOfFile()", () => {
  it("signs with the signing key and verifies with all but the retired", () => {
    const old = { ...ACCESS, kid: "a0", key: EC_PUBLIC, alg: "ES256", state: "verify" };
    const retired = { ...ACCESS, kid: "ax", key: "too short", state: "retired" };
    const result = keysOfFile(JSON.stringify([old, { ...ACCESS, alg: "Ed25519", key: ED_PRIVATE }, retired, REFRESH]));
    if (!result.ok) throw new Error(result.problems.join());
    expect([result.keys.access.signing.id, [...result.keys.access.verifying.keys()]]).toEqual(["a1", ["a0", "a1"]]);
    expect(result.keys.access.verifying.get("a1")?.key.type).toBe("public");
  });

  it.each([
    {
      name: "no signing key",
      entries: [ACCESS],
      problem: '0 keys have use "refresh" and state "sign", exactly one must',
    },
    {
      name: "two signing keys",
      entries: [ACCESS, { ...ACCESS, kid: "a2", key: `${SECRET_A}2` }, REFRESH],
      problem: '2 keys have use "access" and state "sign", exactly one must',
    },
    {
      name: "one kid twice",
      entries: [ACCESS, { ...ACCESS, key: `${SECRET_A}2`, state: "verify" }, REFRESH],
      problem: 'two keys of use "access" have the same kid',
    },
    {
      name: "a short secret",
      entries: [{ ...ACCESS, key: "short" }, REFRESH],
      problem: 'key "a1" must be at least 32 bytes long',
    },
    {
      name: "a placeholder",
      entries: [{ ...ACCESS, key: "change-me-change-me-change-me-change-me", state: "verify" }, REFRESH],
      problem: 'key "a1" must be random, not a placeholder',
    },
    {
      name: "one key held down",
      entries: [ACCESS, { ...REFRESH, key: "r".repeat(64) }],
      problem: 'key "r1" must be random, not a placeholder',
    },
    {
      name: "a public key for refresh",
      entries: [ACCESS, { ...REFRESH, alg: "ES256", key: EC_PRIVATE }],
      problem: 'keys of use "refresh" must have alg "HS256"',
    },
    {
      name: "two families",
      entries: [ACCESS, { ...ACCESS, kid: "a2", alg: "ES256", key: EC_PUBLIC, state: "verify" }, REFRESH],
      problem: 'keys of use "access" mix HS256 with a public-key algorithm',
    },
    {
      name: "a key of another kind",
      entries: [{ ...ACCESS, alg: "ES256", key: ED_PRIVATE }, REFRESH],
      problem: 'key "a1" is not a key for ES256',
    },
    {
      name: "signing with a public key",
      entries: [{ ...ACCESS, alg: "ES256", key: EC_PUBLIC }, REFRESH],
      problem: 'key "a1" must be a private key for ES256 in PEM',
    },
    {
      name: "text that is no key",
      entries: [{ ...ACCESS, alg: "Ed25519", key: "x" }, REFRESH],
      problem: 'key "a1" must be a private key for Ed25519 in PEM',
    },
    {
      name: "one key for both uses",
      entries: [ACCESS, { ...REFRESH, key: SECRET_A }],
      problem: 'key "r1" has the same key as an earlier entry',
    },
    {
      name: "an unknown field",
      entries: [{ ...ACCESS, extra: 1 }, REFRESH],
      problem: '[0]: Unrecognized key: "extra"',
    },
    { name: "no list", entries: {}, problem: "the file: Invalid input: expected array, received object" },
  ])("refuses $name", ({ entries, problem }) => {
    expect(problems(entries)).toContain(problem);
  });

  it("never quotes the file when it is not JSON", () => {
    expect(keysOfFile(`{"key": "${SECRET_A}"`)).toEqual({ ok: false, problems: ["the file is not JSON"] });
  });
});
