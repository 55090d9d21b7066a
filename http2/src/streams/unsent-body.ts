// The DATA of an answer that could not be sent in one piece.

/** What follows the body: nothing yet, the end of the stream with its last frame, or trailers. */
export type BodyEnd =
  | { readonly kind: "open" }
  | { readonly kind: "data" }
  | { readonly kind: "ok" }
  | { readonly kind: "status"; readonly status: number; readonly message: string };

/** A body and how much of it is sent. */
export class UnsentBody {
  readonly bytes: Buffer;
  end: BodyEnd;
  /** Bytes that are sent. */
  sentBytes = 0;

  constructor(bytes: Buffer, end: BodyEnd) {
    this.bytes = bytes;
    this.end = end;
  }
}
