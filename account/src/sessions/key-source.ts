// Reads the keys of tokens from their source, keeps generated ones in DATA_DIR, and reads a changed
// key file again.
import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { errorCode } from "@weir/common/errors/error-code";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { StartError } from "../errors.ts";
import { keysOfFile, keysOfSecrets, SECRET_MIN_BYTES, type TokenKeys } from "./key-ring.ts";

/**
 * How often a key file is looked at, in milliseconds. Kubernetes takes up to a minute to bring a
 * changed Secret, so this is soon enough.
 */
const POLL_INTERVAL_MS = 5000;

/** Name of the file in DATA_DIR that holds generated secrets. */
const GENERATED_FILE = "token-secrets.json";

/** Keys that may change while the service runs. */
export interface KeySourcePart extends Part {
  /** The active keys; callers read them every time. */
  readonly current: () => TokenKeys;
}

/** Keys from two secrets, which never change. */
export function fixedKeys({ access, refresh }: GeneratedSecrets): KeySourcePart {
  const keys = keysOfSecrets(access, refresh);
  return { name: "token keys", current: () => keys };
}

/**
 * Keys from secrets that are made at the first start and kept in `directory`, readable by the owner
 * only. Throws TOKEN_KEYS_INVALID.
 */
export function generatedKeys(directory: string): KeySourcePart {
  const path = join(directory, GENERATED_FILE);
  const kept = readIfPresent(path);
  if (kept === undefined) return fixedKeys(generate(path));
  const parsed = generatedSchema.safeParse(parseJson(kept));
  if (!parsed.success) {
    throw new StartError(
      "TOKEN_KEYS_INVALID",
      `Cannot use the secrets in ${path}: the file is damaged; remove it to end all sessions and make new ones`,
    );
  }
  return fixedKeys(parsed.data);
}

/**
 * Keys from a key file, read now (throws TOKEN_KEYS_INVALID) and again when it changes; a bad
 * change is logged and the old keys stay.
 */
export function watchedKeys(
  path: string,
  deps: { readonly log: Log },
  options = { pollIntervalMs: POLL_INTERVAL_MS },
): KeySourcePart {
  let stamp = stampOf(path);
  let keys = readKeyFile(path);
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const newStamp = stampOf(path);
    if (newStamp === stamp) return;
    stamp = newStamp;
    try {
      keys = readKeyFile(path);
      deps.log.info("Token keys reloaded", { path });
    } catch (error) {
      deps.log.warn("Cannot read the changed token keys, the old ones stay active", { path, error });
    }
  };
  return {
    name: "token keys",
    current: () => keys,
    start() {
      timer = setInterval(look, options.pollIntervalMs);
    },
    stop() {
      clearInterval(timer);
    },
  };
}

const generatedSchema = z.strictObject({
  access: z.string().min(SECRET_MIN_BYTES),
  refresh: z.string().min(SECRET_MIN_BYTES),
});

type GeneratedSecrets = z.infer<typeof generatedSchema>;

function generate(path: string): GeneratedSecrets {
  const secrets = {
    access: randomBytes(SECRET_MIN_BYTES).toString("base64url"),
    refresh: randomBytes(SECRET_MIN_BYTES).toString("base64url"),
  };
  const temporary = `${path}.partial`;
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, `${JSON.stringify(secrets)}\n`, { mode: 0o600, flag: "wx", flush: true });
    renameSync(temporary, path);
  } catch (cause) {
    throw new StartError("DATA_DIRECTORY_UNUSABLE", `Cannot keep the generated secrets in ${path}`, { cause });
  }
  return secrets;
}

function readKeyFile(path: string): TokenKeys {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new StartError("TOKEN_KEYS_INVALID", `Cannot read the key file ${path}`, { cause });
  }
  const result = keysOfFile(text);
  if (result.ok) return result.keys;
  throw new StartError("TOKEN_KEYS_INVALID", `Cannot use the key file ${path}: ${result.problems.join("; ")}`);
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined;
    throw new StartError("TOKEN_KEYS_INVALID", `Cannot read the secrets in ${path}`, { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The schema refuses it; the parser's message would quote a secret.
  }
}

/** Changes whenever the file does. Kubernetes swaps a link, which changes the inode. */
function stampOf(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false });
  return status === undefined ? "absent" : [status.ino, status.mtimeMs, status.size].join("/");
}
