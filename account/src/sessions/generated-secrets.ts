// Secrets for development: made at the first start, kept in DATA_DIR, readable by their owner only.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "@weir/common/errors/error-code";
import { StartError } from "../errors.ts";
import { keysOfFile, type TokenKeys } from "./key-ring.ts";
import { SECRET_MIN_BYTES } from "./secret-fault.ts";

/** Name of the file with the keys of tokens: a key file, as TOKEN_KEYS_FILE names one. */
const KEYS_FILE = "token-keys.json";

/** Name of the file with the secret of account labels. */
const LABEL_FILE = "account-label-secret";

/**
 * The keys of tokens that `directory` keeps: ES256 for access tokens, HS256 for refresh tokens.
 * Throws TOKEN_KEYS_INVALID or DATA_DIRECTORY_UNUSABLE.
 */
export function generatedKeys(directory: string): TokenKeys {
  const path = join(directory, KEYS_FILE);
  const result = keysOfFile(keep(path, makeKeyFile));
  if (result.ok) return result.keys;
  throw damaged(path, "end all sessions and make new keys");
}

/** The secret of account labels that `directory` keeps. Throws like `generatedKeys`. */
export function generatedLabelSecret(directory: string): string {
  const path = join(directory, LABEL_FILE);
  const secret = keep(path, makeSecret).trim();
  if (Buffer.byteLength(secret) >= SECRET_MIN_BYTES) return secret;
  throw damaged(path, "make a new one");
}

function makeSecret(): string {
  return randomBytes(SECRET_MIN_BYTES).toString("base64url");
}

function makeKeyFile(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const kid = (): string => randomBytes(8).toString("base64url");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  return JSON.stringify(
    [
      { kid: kid(), use: "access", alg: "ES256", key: pem, state: "sign" },
      { kid: kid(), use: "refresh", alg: "HS256", key: makeSecret(), state: "sign" },
    ],
    null,
    2,
  );
}

/** The text of the file, which is made first when it does not exist. */
function keep(path: string, make: () => string): string {
  const kept = readIfPresent(path);
  if (kept !== undefined) return kept;
  const text = `${make()}\n`;
  const temporary = `${path}.partial`;
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx", flush: true });
    renameSync(temporary, path);
  } catch (cause) {
    throw new StartError("DATA_DIRECTORY_UNUSABLE", `Cannot keep the generated secrets in ${path}`, { cause });
  }
  return text;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined;
    throw new StartError("TOKEN_KEYS_INVALID", `Cannot read the secrets in ${path}`, { cause });
  }
}

/** Says nothing of the content, which is secret. */
function damaged(path: string, effect: string): StartError {
  return new StartError(
    "TOKEN_KEYS_INVALID",
    `Cannot use the secrets in ${path}: the file is damaged; remove it to ${effect}`,
  );
}
