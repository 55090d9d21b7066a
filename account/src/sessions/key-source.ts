// The keys of tokens as a part of the service: fixed ones, or those of a key file that is read again
// when it changes.
import { readFileSync, statSync } from "node:fs";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { StartError } from "../errors.ts";
import { keysOfFile, type TokenKeys } from "./key-ring.ts";

/**
 * How often a key file is looked at, in milliseconds. Kubernetes takes up to a minute to bring a
 * changed Secret, so this is soon enough.
 */
const POLL_INTERVAL_MS = 5000;

/** Keys that may change while the service runs. */
export interface KeySourcePart extends Part {
  /** The active keys; callers read them every time. */
  readonly current: () => TokenKeys;
}

/** Keys that never change. */
export function fixedKeys(keys: TokenKeys): KeySourcePart {
  return { name: "token keys", current: () => keys };
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

/** Changes whenever the file does. Kubernetes swaps a link, which changes the inode. */
function stampOf(path: string): string {
  const status = statSync(path, { throwIfNoEntry: false });
  return status === undefined ? "absent" : [status.ino, status.mtimeMs, status.size].join("/");
}
