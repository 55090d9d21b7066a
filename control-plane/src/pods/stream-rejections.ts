// The versions that the pod at the end of one stream rejected: what came back into force without an
// edit need not be sent to it again. The memory ends with the stream, because the process may be
// another one after that.
import { makeRoom } from "./make-room.ts";

/**
 * Most versions that are remembered of a stream, each with its text; one that is forgotten is sent
 * once more.
 */
const VERSIONS_MAX = 8;

/** What a pod said when it rejected a version. */
export interface EarlierRejection {
  readonly message: string;
  /** When it said so, milliseconds since the epoch. */
  readonly atMs: number;
  /** Counts what was wanted of the fleet until then. */
  readonly round: number;
}

/** The memory of one stream. */
export class StreamRejections {
  readonly #byVersion = new Map<string, EarlierRejection>();

  /** The pod has rejected the whole of the version. */
  note(version: string, rejection: EarlierRejection): void {
    this.forget(version);
    makeRoom(this.#byVersion, VERSIONS_MAX);
    this.#byVersion.set(version, rejection);
  }

  /** The pod has accepted the version. */
  forget(version: string): void {
    this.#byVersion.delete(version);
  }

  /** What the pod said of the version. */
  find(version: string): EarlierRejection | undefined {
    return this.#byVersion.get(version);
  }
}
