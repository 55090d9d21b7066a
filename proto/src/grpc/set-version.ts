// The version of a set of resources, the same for the control plane and for a pod that holds the set.
import { createHash, hash } from "node:crypto";

/** Hexadecimal characters of a hash: 128 bits, so that no two contents have the same one. */
const HASH_LENGTH = 32;

/** The version of a set: the hash of its resources' versions, in the order of their names. */
export function setVersion(versions: readonly string[]): string {
  return contentHash(versionsText(versions));
}

/** Versions that are hashed in one step. */
const STEP_VERSIONS = 1024;

/** {@link setVersion} in steps: tens of thousands of versions take milliseconds. */
export function* setVersionSteps(versions: readonly string[]): Generator<undefined, string> {
  const content = createHash("sha256");
  for (let start = 0; start < versions.length; start += STEP_VERSIONS) {
    content.update(`${start === 0 ? "" : "\n"}${versionsText(versions.slice(start, start + STEP_VERSIONS))}`);
    yield;
  }
  return content.digest("hex").slice(0, HASH_LENGTH);
}

/** The text that {@link setVersion} hashes. */
export function versionsText(versions: readonly string[]): string {
  return versions.join("\n");
}

/** The hash of a content. */
export function contentHash(content: Uint8Array | string): string {
  return hash("sha256", content).slice(0, HASH_LENGTH);
}
