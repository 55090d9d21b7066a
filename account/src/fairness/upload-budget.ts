// Bounds the memory that the forms of all callers take together. It counts bytes instead of callers, so
// that slow callers do not keep others out, and the network that holds the most makes place.
import { FairShares } from "@weir/common/callers/fair-shares";

/** The bytes of one upload. */
export interface UploadHold {
  /** Adds bytes; false when all uploads hold too much, and no network more than the caller's. Then none are added. */
  take(bytes: number): boolean;
  /** Releases all bytes. */
  release(): void;
}

/** Bytes that uploads hold together. */
export class UploadBudget {
  readonly #shares = new FairShares<AbortController>();
  readonly #maxBytes: number;
  readonly #uploadMaxBytes: number;
  readonly #refusal: () => Error;

  /**
   * Of uploads of at most `uploadMaxBytes` each, together `maxBytes`. `refusal` is the reason with which one is
   * aborted that makes place for another.
   */
  constructor(
    { maxBytes, uploadMaxBytes }: { readonly maxBytes: number; readonly uploadMaxBytes: number },
    refusal: () => Error,
  ) {
    this.#maxBytes = maxBytes;
    this.#uploadMaxBytes = uploadMaxBytes;
    this.#refusal = refusal;
  }

  /** Begins an upload that holds nothing yet, and nothing any more once `call` is aborted. */
  open(networks: readonly string[], call: AbortController): UploadHold {
    const shares = this.#shares;
    const release = (): void => shares.remove(networks, call);
    call.signal.addEventListener("abort", release);
    return {
      take: (bytes) => {
        while (shares.weight + bytes > this.#maxBytes) {
          // Nobody loses the only upload that it has to one that has just begun.
          const displaced = shares.toDisplace(networks, this.#uploadMaxBytes);
          if (displaced === undefined) return false;
          displaced.abort(this.#refusal());
        }
        shares.add(networks, call, bytes);
        return true;
      },
      release,
    };
  }
}
