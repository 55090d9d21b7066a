// Bounds the memory that the forms of all callers take together. It counts bytes instead of callers,
// so that slow callers do not keep others out.

/** Bytes that uploads hold together. */
export interface UploadBudget {
  /** Begins an upload that holds nothing yet. */
  open(): UploadHold;
}

/** The bytes of one upload. */
export interface UploadHold {
  /** Adds bytes; false when all uploads together then hold too many, and none are added. */
  take(bytes: number): boolean;
  /** Releases all bytes. */
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
