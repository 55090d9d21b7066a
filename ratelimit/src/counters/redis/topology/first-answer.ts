// Asks servers for the topology, one after the other until one answers.

/** How long a server may be silent before the next one is asked as well, in milliseconds. */
const PATIENCE_MS = 200;

/**
 * The first answer. The next server is asked when the one before has failed, or is silent for a
 * while; the signal ends questions that need no answer any more. Rejects with the first error when
 * all have failed.
 */
export function firstAnswer<Server, Answer>(
  servers: readonly Server[],
  ask: (server: Server, signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const answered = new AbortController();
    const errors: Error[] = [];
    const waiting = servers.values();
    let timer: NodeJS.Timeout | undefined;
    const next = (): void => {
      clearTimeout(timer);
      const { value: server } = waiting.next();
      if (server === undefined || answered.signal.aborted) return;
      timer = setTimeout(next, PATIENCE_MS);
      ask(server, answered.signal).then(
        (answer) => {
          clearTimeout(timer);
          resolve(answer);
          answered.abort();
        },
        (error: unknown) => {
          errors.push(error instanceof Error ? error : new Error(String(error)));
          if (errors.length === servers.length) reject(errors[0] ?? new Error("no server was asked"));
          else next();
        },
      );
    };
    next();
  });
}
