// The version of a set of resources, the same for the control plane and for a pod that holds the set.
import { createHash } from "node:crypto";

/** Hexadecimal characters of a hash: 128 bits, so that no two contents have the same one. */
const HASH_LENGTH = 32;

/** The version of a set: the hash of its resources' versions, in the order of their names. */
export function setVersion(versions: readonly string[]): string {
  return contentHash(versions.join("\n"));
}

/** The hash of a content. */
export function contentHash(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, HASH_LENGTH);
}
