// Looks passwords up in a sorted file of SHA-1 hashes, as Have I Been Pwned publishes it: one
// "HASH:COUNT" per line, tens of gigabytes, so by binary search in the file.
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Log } from "@weir/common/log/log";
import { StartError } from "../errors.ts";

/** Longest line in bytes: 40 digits, a colon, a count of up to 20 digits and a line end. */
const LINE_MAX_BYTES = 64;

/** Size in bytes of the part of the file that is read whole at the end of a search. */
const WINDOW_BYTES = 4096;

/** Lines that are looked at when the service starts, evenly over the file. */
const SAMPLES = 16;

const LINE = /^([0-9A-Fa-f]{40})(:\d+)?\r?$/;

/** Passwords that are known to be leaked. */
export interface BreachedPasswords {
  /** Never rejects: a file that cannot be read is logged, and the answer is false. */
  has(password: string): Promise<boolean>;
}

/**
 * The passwords in the file. It is opened for each question, so that a new one can take its place by
 * a rename. Throws BREACH_FILE_INVALID when it cannot be read, or its lines are not ordered hashes.
 */
export function openBreachFile(path: string, { log }: { readonly log: Log }): BreachedPasswords {
  checkSamples(path);
  return {
    async has(password) {
      try {
        return await isListed(path, createHash("sha1").update(password).digest("hex").toUpperCase());
      } catch (error) {
        log.warn("Cannot look up a password in PASSWORD_BREACH_FILE, it is accepted", { path, error });
        return false;
      }
    },
  };
}

async function isListed(path: string, hash: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    // The line of the hash, if any, begins at an offset from `low` to before `high`.
    let low = 0;
    let high = size;
    while (high - low > WINDOW_BYTES) {
      const middle = Math.floor((low + high) / 2);
      const line = nextLine(await readAt(file, middle, 2 * LINE_MAX_BYTES));
      if (line.hash === hash) return true;
      if (line.hash < hash) low = middle + line.offset;
      else high = middle + 1;
    }
    const text = (await readAt(file, low, high - low + LINE_MAX_BYTES)).toString("latin1");
    return text.split("\n").some((line) => LINE.exec(line)?.[1]?.toUpperCase() === hash);
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** The first line that begins in `bytes`, and its offset there. Throws when there is none. */
function nextLine(bytes: Buffer): { readonly hash: string; readonly offset: number } {
  const offset = bytes.indexOf("\n") + 1;
  const [line = ""] = bytes.toString("latin1", offset).split("\n", 1);
  const hash = LINE.exec(line)?.[1];
  if (offset === 0 || hash === undefined) throw new Error("Cannot read the file: a line is not a SHA-1 hash");
  return { hash: hash.toUpperCase(), offset };
}

function checkSamples(path: string): void {
  let hashes: readonly string[];
  try {
    hashes = readSamples(path);
  } catch (cause) {
    throw new StartError("BREACH_FILE_INVALID", `Cannot use PASSWORD_BREACH_FILE ${path}`, { cause });
  }
  if (hashes.some((hash, index) => index > 0 && hash < String(hashes[index - 1])))
    throw new StartError(
      "BREACH_FILE_INVALID",
      `Cannot use PASSWORD_BREACH_FILE ${path}: its lines are not ordered by hash`,
    );
}

function readSamples(path: string): readonly string[] {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const read = (position: number): Buffer => {
      const buffer = Buffer.alloc(2 * LINE_MAX_BYTES);
      return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, position));
    };
    const first = nextLine(Buffer.concat([Buffer.from("\n"), read(0)])).hash;
    const step = Math.floor(size / SAMPLES);
    if (step < 2 * LINE_MAX_BYTES) return [first];
    const further = Array.from({ length: SAMPLES - 1 }, (_, index) => nextLine(read((index + 1) * step)).hash);
    return [first, ...further];
  } finally {
    closeSync(file);
  }
}
