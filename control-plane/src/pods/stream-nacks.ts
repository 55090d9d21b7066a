// The versions that the pod of one stream NACKed, so that the same content is not sent to it again.
// The memory ends with the stream: the next stream may belong to another process.
import { evictOldest } from "./evict-oldest.ts";

/** Most versions that are remembered of a stream; a forgotten one is sent once more. */
const VERSIONS_MAX = 8;

/** A NACK of a version. */
export interface EarlierNack {
  readonly message: string;
  /** When it came, milliseconds since the epoch. */
  readonly atMs: number;
  /** The fleet's epoch at that time. */
  readonly epoch: number;
}

/** The NACKs of one stream. */
export class StreamNacks {
  readonly #byVersion = new Map<string, EarlierNack>();

  /** Records that the pod NACKed the whole version. */
  note(version: string, nack: EarlierNack): void {
    this.forget(version);
    evictOldest(this.#byVersion, VERSIONS_MAX);
    this.#byVersion.set(version, nack);
  }

  /** Forgets the version: the pod ACKed it. */
  forget(version: string): void {
    this.#byVersion.delete(version);
  }

  /** The pod's NACK of the version. */
  find(version: string): EarlierNack | undefined {
    return this.#byVersion.get(version);
  }
}
