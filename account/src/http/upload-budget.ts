// Bounds the memory that the forms of all callers take together. It counts bytes instead of callers,
// so that slow callers do not keep others out.

/** The bytes of one upload. */
export interface UploadHold {
  /** Adds bytes; false when all uploads together then hold too many, and none are added. */
  take(bytes: number): boolean;
  /** Releases all bytes. */
  release(): void;
}

/** Bytes that uploads hold together. */
export class UploadBudget {
  readonly #maxBytes: number;
  #totalBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Begins an upload that holds nothing yet. */
  open(): UploadHold {
    let heldBytes = 0;
    return {
      take: (bytes) => {
        if (this.#totalBytes + bytes > this.#maxBytes) return false;
        this.#totalBytes += bytes;
        heldBytes += bytes;
        return true;
      },
      release: () => {
        this.#totalBytes -= heldBytes;
        heldBytes = 0;
      },
    };
  }
}
