// Bounds the memory that the forms of all callers take together. Counts bytes and not callers:
// somebody who sends slowly must not keep others out.

/** Bytes that uploads hold together. */
export interface UploadBudget {
  /** Begins an upload that holds nothing yet. */
  open(): UploadHold;
}

/** What one upload holds. */
export interface UploadHold {
  /** Adds bytes; false when all uploads together then hold too many, and none are added. */
  take(bytes: number): boolean;
  /** Gives everything back. */
  release(): void;
}

/** A budget of `maxBytes`. */
export function createUploadBudget(maxBytes: number): UploadBudget {
  let totalBytes = 0;
  return {
    open() {
      let heldBytes = 0;
      return {
        take(bytes) {
          if (totalBytes + bytes > maxBytes) return false;
          totalBytes += bytes;
          heldBytes += bytes;
          return true;
        },
        release() {
          totalBytes -= heldBytes;
          heldBytes = 0;
        },
      };
    },
  };
}
