// Replies of a server, and the interface of their receivers.

/** A reply by which the server refuses a command. */
export class ReplyError extends Error {}

/** One reply. A server reports an error as a reply, too. */
export type Reply = number | string | null | Error | readonly Reply[];

/** Receives the replies to the commands that were written for it. */
export interface ReplyReceiver {
  /** Number of replies that it expects, at least 1; it does not change once they are awaited. */
  readonly replies: number;
  /** Takes the next reply; the replies come in the order of the commands. */
  receive(reply: Reply): void;
  /** Called once, after the last reply. */
  completed(): void;
  /** Called once instead, when the connection ends before the last reply. */
  lost(cause: unknown): void;
}

/** Receives replies that do not matter. */
export class IgnoredReplies implements ReplyReceiver {
  readonly replies: number;

  constructor(replies: number) {
    this.replies = replies;
  }

  receive(): void {
    // Nothing depends on it.
  }

  completed(): void {
    // As above.
  }

  lost(): void {
    // As above.
  }
}
