// A whole service on free ports for tests, with a clock that the test moves, and an HTTP client
// that sends exactly the given bytes.
import { type IncomingHttpHeaders, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { createLog } from "@weir/common/log/log";
import type { Env } from "@weir/common/settings/read-env";
import { startTracing } from "@weir/common/tracing/tracing";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { checkAnswer } from "./api/check-answer.suite.ts";
import { png } from "./media/sample-images.suite.ts";
import { BASE_ENV } from "./program.suite.ts";
import type { ListenerPatience } from "./public-listener.ts";
import { createService } from "./service.ts";
import { parseSettings } from "./settings/settings.ts";

/** Longest wait for an answer in tests, in milliseconds. */
const ANSWER_TIMEOUT_MS = 60_000;

/** Shortest password that is looked for in the log: shorter ones are part of other words. */
const PASSWORD_FOUND_MIN = 6;

/** Texts that no line may have: e-mail addresses, tokens (JWT), and hashes of passwords. */
const PERSONAL = /[\w.+-]+@[\w-]+\.\w+|eyJ[\w-]{10,}|\$2[aby]\$\d\d\$/;

/** The user that tests register. */
export const USER = { email: "a@x.com", password: "correct horse battery" };

/** An answer with its body read. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; an empty object when it is none. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly setCookies: readonly string[];
}

/** A part of a multipart form; with `fileName` or `type` it is written as given. */
export interface Part {
  readonly name: string;
  readonly value: string | Buffer;
  readonly fileName?: string;
  readonly type?: string;
}

/** A request. */
export interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

export interface RunningService {
  readonly port: number;
  readonly metricsUrl: string;
  readonly directory: string;
  /** Every line of the log, at debug level, as JSON. */
  readonly logLines: readonly string[];
  /** Moves the service's clocks. */
  advance(ms: number): void;
  call(call: Call): Promise<Answer>;
  /** Sends bytes as they are and gives back everything until the connection ends. */
  raw(bytes: string | Buffer): Promise<string>;
  register(fields?: Readonly<Record<string, string>>, further?: readonly Part[]): Promise<Answer>;
  login(body?: unknown, headers?: Call["headers"]): Promise<Answer>;
  /** Logs the user of the tests in and gives the Cookie header of the session. */
  session(): Promise<string>;
  /** Stops the service and starts it again on the same data. */
  restart(env?: Env): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a service with fast hashes and without limits on free ports of 127.0.0.1; `env` adds to its
 * settings.
 */
export async function startService(env: Env = {}, patience: ListenerPatience = {}): Promise<RunningService> {
  const folder = makeTemporaryFolder();
  const logLines: string[] = [];
  const passwords = new Set<string>();
  const state = { offsetMs: 0 };
  const start = async (further: Env): Promise<ReturnType<typeof createService>> => {
    const base = { ...BASE_ENV, HOST: "127.0.0.1", DATA_DIR: folder.path };
    const log = createLog({ level: "debug", format: "json", write: (line) => logLines.push(line) });
    const settings = parseSettings({ ...base, ...env, ...further });
    const tracing = await startTracing(settings.tracing, { log });
    const deps = {
      ...{ log, tracing, stopsAtOnce: () => true },
      clock: () => Date.now() + state.offsetMs,
      monotonicMs: () => performance.now() + state.offsetMs,
    };
    const service = createService(settings, deps, patience);
    await service.lifecycle.start();
    return service;
  };
  const remember = (password: unknown): void => {
    if (typeof password === "string" && password.length >= PASSWORD_FOUND_MIN) passwords.add(password);
  };
  let service = await start({});
  const running: RunningService = {
    get port() {
      return Number(new URL(service.address()).port);
    },
    get metricsUrl() {
      return service.metricsUrl();
    },
    directory: folder.path,
    logLines,
    advance: (ms) => {
      state.offsetMs += ms;
    },
    call: (call) => send(running.port, call),
    raw: (bytes) => sendRaw(running.port, bytes),
    register: (fields = USER, further = [{ name: "avatar", value: png(), fileName: "a.png", type: "image/png" }]) => {
      remember(fields["password"]);
      const parts = Object.entries(fields).map(([name, value]) => ({ name, value }));
      return send(running.port, formCall([...parts, ...further]));
    },
    login: (body = USER, headers = {}) => {
      remember((body as { readonly password?: unknown } | null)?.password);
      return send(running.port, {
        method: "POST",
        path: "/api/v1/user/login",
        headers: { "Content-Type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
    },
    session: async () => cookieHeader(await running.login()),
    restart: async (further = {}) => {
      await service.lifecycle.stop();
      service = await start(further);
    },
    stop: async () => {
      await service.lifecycle.stop();
      folder.remove();
      findPersonal(logLines, passwords);
    },
  };
  return running;
}

/** Throws when a line has an e-mail address, a token, a hash or one of the passwords. */
export function findPersonal(lines: readonly string[], passwords: ReadonlySet<string>): void {
  for (const line of lines) {
    const found = PERSONAL.exec(line)?.[0] ?? [...passwords].find((password) => line.includes(password));
    if (found !== undefined) throw new Error(`the line holds ${found}, which is personal: ${line}`);
  }
}

/** The Cookie header a browser would send after this answer. */
export function cookieHeader(answer: Answer): string {
  return answer.setCookies.map((cookie) => cookie.slice(0, cookie.indexOf(";"))).join("; ");
}

/** The cookies of an answer without their tokens; the seconds that a slow test took are rounded away. */
export function cookieAttributes(answer: Answer): readonly string[] {
  const roundUp = (seconds: string): string => String(Math.ceil(Number(seconds) / 60) * 60);
  return answer.setCookies.map((cookie) =>
    cookie.replace(/=[^;]+/, "=…").replace(/Max-Age=(\d+)/, (_, seconds: string) => `Max-Age=${roundUp(seconds)}`),
  );
}

/** The value of one cookie in a Cookie header. */
export function cookieValue(header: string, name: string): string {
  const pair = header.split("; ").find((entry) => entry.startsWith(`${name}=`));
  if (pair === undefined) throw new Error(`the cookie ${name} does not exist`);
  return pair.slice(name.length + 1);
}

/** A registration as a multipart form. */
export function formCall(parts: readonly Part[], headers: Call["headers"] = {}): Call {
  const contentType = { "Content-Type": "multipart/form-data; boundary=WeirTestBoundary" };
  return {
    method: "POST",
    path: "/api/v1/user/register",
    headers: { ...contentType, ...headers },
    body: formBody(parts),
  };
}

/** The body of a multipart form with the boundary `WeirTestBoundary`. */
export function formBody(parts: readonly Part[]): Buffer {
  const chunks = parts.flatMap(({ name, value, fileName, type }) => [
    Buffer.from(
      `--WeirTestBoundary\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? "" : `; filename="${fileName}"`}\r\n` +
        `${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n`,
    ),
    Buffer.from(value),
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...chunks, Buffer.from("--WeirTestBoundary--\r\n")]);
}

function send(port: number, call: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const body = call.body === undefined ? undefined : Buffer.from(call.body);
    const length = body === undefined ? {} : { "Content-Length": String(body.length) };
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        method: call.method ?? "GET",
        path: call.path,
        headers: { ...length, ...call.headers },
        agent: false,
      },
      (response) => {
        const { statusCode: status = 0, headers } = response;
        const setCookies = headers["set-cookie"] ?? [];
        const answerOf = (bytes: Buffer): Answer => {
          const [mediaType = ""] = (headers["content-type"] ?? "").split(";");
          const { method = "GET", path } = call;
          const requestId = headers["x-request-id"] as string | undefined;
          checkAnswer({ method, path, status, mediaType, requestId, body: parseObject(bytes) });
          return { status, headers, text: bytes.toString("latin1"), json: parseObject(bytes), setCookies };
        };
        buffer(response).then(answerOf).then(resolve, reject);
      },
    );
    request.setTimeout(ANSWER_TIMEOUT_MS, () =>
      request.destroy(new Error(`no answer to ${call.method ?? "GET"} ${call.path}`)),
    );
    request.on("error", reject);
    request.end(body);
  });
}

function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(bytes.toString()) as Readonly<Record<string, unknown>>;
  } catch {
    return {}; // Images and empty answers; tests that want JSON compare a field and fail.
  }
}

function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error("the connection stays open")));
    buffer(socket).then((bytes) => resolve(bytes.toString("latin1")), reject);
  });
}
