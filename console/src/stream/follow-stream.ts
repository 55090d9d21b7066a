// Keeps a stream open: one that is silent or ends is opened again, after a pause that grows.

/** Longest time without a message, in milliseconds: counts come every half second, rollouts every four at least. */
const SILENCE_MAX_MS = 6_000;

/** The pauses, in milliseconds. */
const PAUSE = { initialMs: 250, maxMs: 5_000 } as const;

export interface FollowDeps<Message> {
  readonly open: (signal: AbortSignal) => AsyncIterable<Message>;
  readonly received: (message: Message) => void;
  /** Why there is nothing new. */
  readonly failed: (reason: string) => void;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/** Follows the stream until the signal aborts. */
export async function followStream<Message>(deps: FollowDeps<Message>, signal: AbortSignal): Promise<void> {
  let pauseMs: number = PAUSE.initialMs;
  for (;;) {
    const reason = await followOnce(
      {
        ...deps,
        received: (message) => {
          pauseMs = PAUSE.initialMs;
          deps.received(message);
        },
      },
      signal,
    );
    if (signal.aborted) return;
    deps.failed(reason);
    await pause(pauseMs * (0.5 + deps.random() / 2), signal);
    pauseMs = Math.min(2 * pauseMs, PAUSE.maxMs);
  }
}

/** Follows one connection; returns why it ended. */
async function followOnce<Message>({ open, received }: FollowDeps<Message>, signal: AbortSignal): Promise<string> {
  const silence = new AbortController();
  const listen = (): ReturnType<typeof setTimeout> => setTimeout(() => silence.abort(), SILENCE_MAX_MS);
  let timer = listen();
  try {
    for await (const message of open(AbortSignal.any([signal, silence.signal]))) {
      clearTimeout(timer);
      timer = listen();
      received(message);
    }
    return "it has ended the connection";
  } catch (error) {
    if (silence.signal.aborted) return `it has sent nothing for ${SILENCE_MAX_MS / 1000} s`;
    return reasonOf(error) ?? "it does not answer";
  } finally {
    clearTimeout(timer);
  }
}

/** Why a request failed; undefined: there was no answer, or none in time. */
export function reasonOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return String(error);
  return error instanceof TypeError || error.name === "TimeoutError" ? undefined : error.message;
}

/** Waits so long, or until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
