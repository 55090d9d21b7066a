// The client of the API for browsers: it refreshes the session and waits where the service asks for it.
import { type Calls, type ErrorBody, ROUTES } from "./generated/calls.ts";

/** The start of all paths of calls. */
const PREFIX = "/api/v1/user/";

/** Most refreshes in a row without a call that succeeds: cookies that do not arrive would cause them forever. */
const REFRESHES_MAX = 3;

/** Longest sum of waits of one call, in seconds, unless an option says otherwise. */
const WAIT_MAX_SECONDS = 10;

type CallName = keyof Calls;
type Input = Readonly<Record<string, string | Blob | null | undefined>>;

/** The options of a client. */
export interface AccountClientOptions {
  /** Origin of the service, such as https://account.example.com; not set, that of the page. */
  readonly origin?: string;
  /** Called when the session has ended, perhaps by several calls: show the login page. */
  readonly onSignedOut?: () => void;
  /** Called before each wait that a 429 or 503 asks for. */
  readonly onWait?: (seconds: number) => void;
  /** Longest sum of such waits of one call; a call that would wait longer rejects. 10 when not set. */
  readonly waitMaxSeconds?: number;
  /** Sends requests; that of the browser when not set. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly sleep?: (ms: number) => Promise<void>;
}

/** The options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Every call, by the name that it has in the API. Each resolves with the body of the answer. It rejects with a
 * `CallError` for an answer that is an error, and otherwise as `fetch` does: a `TypeError` without a network, the
 * reason of the signal when it is aborted.
 */
export type AccountClient = {
  readonly [Name in CallName]: Calls[Name]["input"] extends undefined
    ? (options?: CallOptions) => Promise<Calls[Name]["answer"]>
    : (input: Calls[Name]["input"], options?: CallOptions) => Promise<Calls[Name]["answer"]>;
};

/** An answer that is an error. */
export class CallError extends Error {
  readonly status: number;
  /** `unknown` when the answer is not of the service, but of a proxy for example. */
  readonly code: ErrorBody["code"] | "unknown";
  /** The inputs that are wrong, each with a sentence about it. */
  readonly errors: ErrorBody["errors"];
  readonly requestId: string | undefined;
  /** Of 429 and 503, after how many seconds the call may be repeated. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, headers }: Pick<Response, "status" | "headers">, body: Partial<ErrorBody>) {
    super(body.message ?? `The service answered ${status}.`);
    this.name = "CallError";
    this.status = status;
    this.code = body.code ?? "unknown";
    this.errors = body.errors ?? [];
    this.requestId = body.requestId;
    const isTemporary = status === 429 || status === 503;
    this.retryAfterSeconds = isTemporary ? Math.max(1, Math.ceil(Number(headers.get("Retry-After"))) || 1) : undefined;
  }
}

/** Makes a client. One is enough for a page: its calls share their refreshes. */
export function createAccountClient(options: AccountClientOptions = {}): AccountClient {
  const { origin = "", onSignedOut, onWait, waitMaxSeconds = WAIT_MAX_SECONDS } = options;
  const send = options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init));
  const sleep = options.sleep ?? ((ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)));
  let refreshing: Promise<unknown> | undefined;
  let refreshes = 0;
  let refreshesInARow = 0;

  /** Sends a request, again after each wait that an answer asks for. */
  const ask = async (name: CallName, input: Input, signal?: AbortSignal): Promise<unknown> => {
    const [method, path, kind] = ROUTES[name];
    const url = `${origin}${PREFIX}${path.replace("{id}", () => encodeURIComponent(input["id"] as string))}`;
    const init = { method, credentials: "include", ...bodyOf(kind, input), ...(signal && { signal }) } as const;
    for (let waitedSeconds = 0; ;) {
      const response = await send(url, init);
      // A proxy may answer with something else, also with 200, and a connection may end within the body.
      const body = (await response.json().catch(() => undefined)) as Partial<ErrorBody> | null | undefined;
      signal?.throwIfAborted();
      if (response.ok && body !== undefined) return body;
      const error = new CallError(response, body ?? {});
      waitedSeconds += error.retryAfterSeconds ?? Infinity;
      if (error.retryAfterSeconds === undefined || waitedSeconds > waitMaxSeconds) throw error;
      onWait?.(error.retryAfterSeconds);
      await unlessAborted(sleep(error.retryAfterSeconds * 1000), signal);
    }
  };

  /** Refreshes the session, once for all calls that want it meanwhile. */
  const refresh = (): Promise<unknown> =>
    (refreshing ??= ask("refreshToken", {})
      .then((answer) => {
        refreshes++;
        refreshesInARow++;
        return answer;
      })
      .catch((error: unknown) => {
        if (isUnauthenticated(error)) onSignedOut?.();
        throw error;
      })
      .finally(() => {
        refreshing = undefined;
      }));

  const call = async (name: CallName, input: Input, signal?: AbortSignal): Promise<unknown> => {
    for (let isRepeated = false; ; isRepeated = true) {
      const refreshesBefore = refreshes;
      try {
        const answer = await ask(name, input, signal);
        refreshesInARow = 0;
        return answer;
      } catch (error) {
        if (!isUnauthenticated(error)) throw error;
        // Another call may have refreshed since this one was sent.
        const isRefreshed = refreshes > refreshesBefore;
        const mayRepeat = !isRepeated && (isRefreshed || refreshing !== undefined || refreshesInARow < REFRESHES_MAX);
        if (!mayRepeat) {
          onSignedOut?.();
          throw error;
        }
        if (!isRefreshed) await unlessAborted(refresh(), signal);
      }
    }
  };

  const methods = (Object.keys(ROUTES) as CallName[]).map((name) => {
    if (name === "refreshToken") return [name, ({ signal }: CallOptions = {}) => unlessAborted(refresh(), signal)];
    if (ROUTES[name][2] === "none") return [name, ({ signal }: CallOptions = {}) => call(name, {}, signal)];
    return [name, (input: Input, { signal }: CallOptions = {}) => call(name, input, signal)];
  });
  return Object.fromEntries(methods) as AccountClient;
}

function bodyOf(kind: (typeof ROUTES)[CallName][2], input: Input): RequestInit {
  if (kind === "json") return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(input) };
  if (kind !== "form") return {};
  const body = new FormData();
  for (const [name, value] of Object.entries(input))
    if (value !== undefined && value !== null) body.append(name, value);
  return { body };
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof CallError && error.status === 401 && error.code !== "invalid_credentials";
}

/** The promise, or the reason of the signal when that is aborted before. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const aborted = new Promise<never>((_resolve, reject) => {
    const stop = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  return Promise.race([promise, aborted]);
}
