// The server of `weir console` on this machine: the page of the first replica that answers, and the APIs of all. It
// answers one browser, which has the session, and no page of another origin.
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

import { PAGE_HEADERS } from "@weir/common/admin/page-headers";
import { silentLog } from "@weir/common/log/log";
import { HttpListener } from "@weir/common/net/http-listener";

import type { ForwardedReplicas } from "./forwarded-replicas.ts";
import { Session } from "./session.ts";

/** Only this machine reaches it. */
const HOST = "127.0.0.1";

/** A few tabs with two streams for each replica. */
const CONNECTIONS_MAX = 128;

/** Longest body of a request, in bytes: names of rules. */
const BODY_MAX_BYTES = 64 * 1024;

/** The files of the page, by their paths here and there. */
const PAGE_PATHS: ReadonlySet<string> = new Set([
  "/",
  "/console/console.js",
  "/console/console.css",
  "/console/icon.svg",
]);

/** The paths that are passed on to replicas: the APIs that read. */
const API_PATH = /^\/replicas\/(\d+)(\/weir\.(?:console\.v1\.ConsoleService|rollout\.v1\.RolloutService)\/\w+)$/;

/** The server. */
export class LocalServer {
  readonly #replicas: ForwardedReplicas;
  readonly #listener: HttpListener;
  #session: Session | undefined;
  #origin = "";

  constructor(replicas: ForwardedReplicas) {
    this.#replicas = replicas;
    this.#listener = new HttpListener(
      { log: silentLog() },
      {
        handle: (request, response) => void this.#answer(request, response),
        refuse: ({ message }) => ({ type: "text/plain; charset=utf-8", body: `${message}\n` }),
      },
      { host: HOST, port: 0, setting: "--port", what: "console", connectionsMax: CONNECTIONS_MAX },
    );
  }

  /** Opens it; resolves with the URL of the page, whose token works once. */
  async start(): Promise<string> {
    await this.#listener.start();
    const { port = 0 } = this.#listener.address() ?? {};
    this.#session = new Session(port);
    this.#origin = `http://${HOST}:${port}`;
    return `${this.#origin}/#token=${this.#session.token}`;
  }

  /** Ends it with all its streams. */
  async stop(): Promise<void> {
    await this.#listener.stop();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const refusal = this.#refusal(request);
      if (refusal === undefined) await this.#route(request, response);
      else respond(response, 403, refusal);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else respond(response, 502, error instanceof Error ? error.message : String(error));
    }
  }

  /** Why the request is not one of the page; undefined: it is. */
  #refusal({ method, url, headers }: IncomingMessage): string | undefined {
    const { host, origin, "sec-fetch-site": site = "none", "sec-fetch-dest": destination } = headers;
    if (`http://${host}` !== this.#origin) return `ask for it by ${this.#origin}`;
    // A link to the page, such as that of the file that opens it: it is the same for all, and no frame may have it.
    const isLink = method === "GET" && url === "/" && destination === "document";
    const isOwn = (origin === undefined || origin === this.#origin) && ["none", "same-origin"].includes(site);
    return isOwn || isLink ? undefined : "a web page of another origin may not ask for it";
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "" } = request;
    if (method === "GET" && PAGE_PATHS.has(url)) {
      await this.#replicas.page(url, response, PAGE_HEADERS);
      return;
    }
    if (method === "POST" && url === "/console/session") {
      const cookie = this.#session?.open(await bodyOf(request));
      if (cookie === undefined) respond(response, 401, "the token is wrong or has been used");
      else response.writeHead(204, { "Set-Cookie": cookie, "Cache-Control": "no-store" }).end();
      return;
    }
    if (this.#session?.has(request) !== true) {
      respond(response, 401, "this browser has no session: open the URL that weir console prints");
      return;
    }
    const [, index, path = ""] = (method === "POST" ? API_PATH.exec(url) : undefined) ?? [];
    if (method === "GET" && url === "/console/replicas") {
      const bases = this.#replicas.indices().map((each) => `/replicas/${each}`);
      response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
      response.end(JSON.stringify(bases));
    } else if (index === undefined) respond(response, 404, "there is no such path");
    else await this.#replicas.forward(Number(index), { request, body: await bodyOf(request), path, response });
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const length = Number(request.headers["content-length"] ?? Infinity);
  if (!(length <= BODY_MAX_BYTES))
    throw new Error(`a body must have at most ${BODY_MAX_BYTES} bytes, and say how many`);
  request.setEncoding("latin1");
  return await text(request);
}

/** As an error of the Connect protocol, of which the page shows the message. */
function respond(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(JSON.stringify({ code: "unavailable", message }));
}
