// The keys of tokens as a part of the service: fixed ones, or those of a key file that is read again
// when it changes.
import { readFileSync } from "node:fs";
import { describeError } from "@weir/common/errors/service-error";
import { FileWatch } from "@weir/common/files/file-watch";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { StartError } from "../errors.ts";
import { keysOfFile, type TokenKeys } from "./key-ring.ts";

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
 * Keys from a key file, read now (throws TOKEN_KEYS_INVALID) and again when it changes. A change
 * that cannot be read or used is logged once, and the old keys stay.
 */
export function watchedKeys(
  path: string,
  { log }: { readonly log: Log },
  options: { readonly pollIntervalMs?: number } = {},
): KeySourcePart {
  let text = readText(path);
  let keys = keysOfText(text, path);
  let problem: string | undefined;
  const refresh = (): void => {
    try {
      const newText = readText(path);
      if (newText !== text) {
        keys = keysOfText(newText, path);
        text = newText;
        log.info("Token keys reloaded", { path });
      }
      problem = undefined;
    } catch (error) {
      const newProblem = describeError(error);
      if (newProblem !== problem)
        log.warn("Cannot use the changed token keys, the old ones stay active", { path, error });
      problem = newProblem;
    }
  };
  const watch = new FileWatch({ log, mayHaveChanged: refresh }, { paths: [path], ...options });
  return { name: "token keys", current: () => keys, start: () => watch.start(), stop: () => watch.stop() };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new StartError("TOKEN_KEYS_INVALID", `Cannot read the key file ${path}`, { cause });
  }
}

function keysOfText(text: string, path: string): TokenKeys {
  const result = keysOfFile(text);
  if (result.ok) return result.keys;
  throw new StartError("TOKEN_KEYS_INVALID", `Cannot use the key file ${path}: ${result.problems.join("; ")}`);
}
