// An API over HTTP/1.1, by the Connect protocol (plain JSON for curl) and gRPC-web. Import it lazily: its
// packages take time to load.
import type { IncomingMessage, ServerResponse } from "node:http";

import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import type { Log } from "@weir/common/log/log";

import { RETRY_AFTER } from "./concurrency-limit.ts";
import { refusalOf, ReportError } from "./report-error.ts";

/** Largest request, in bytes: of a filter, and of names of rules. */
const REQUEST_MAX_BYTES = 64 * 1024;

/** The answer outside the protocol: unary methods take plain JSON, streaming ones envelopes. */
const HOW_TO_ASK = {
  unary: "POST a message to this path with the header content-type: application/json (or use Connect or gRPC-web)",
  stream:
    "this method streams: POST an enveloped message to this path with the header content-type: application/connect+json, or use Connect or gRPC-web; methods that do not stream take plain JSON",
} as const;

/** Context key of the response to which the answer to a request is written. */
export const RESPONSE = createContextKey<ServerResponse | undefined>(undefined);

/** Answers a request to a method of the API. */
export type ConnectHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Makes the handler of the services that are added to the router. `log` gets what fails. */
export function createConnectHandler(log: Log, addTo: (router: ConnectRouter) => void): ConnectHandler {
  const router = createConnectRouter({
    grpc: false,
    acceptCompression: [compressionGzip],
    readMaxBytes: REQUEST_MAX_BYTES,
    // An unknown filter would otherwise be ignored silently.
    jsonOptions: { ignoreUnknownFields: false },
  });
  addTo(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const handler = handlers.get(path);
    if (handler === undefined) {
      respondError(response, 404, "unimplemented", `no such method: ${path}`);
      return;
    }
    const asked = readRequest(request, response);
    if (asked === undefined) {
      respondError(response, 400, "invalid_argument", "the request names no usable host");
      return;
    }
    handler(asked)
      .then((answer) => {
        if (answer.body !== undefined) return universalResponseToNodeResponse(answer, response);
        // To a request outside the protocol, Connect answers with a bare status.
        const { methodKind } = handler.method;
        respondError(response, answer.status, "unknown", HOW_TO_ASK[methodKind === "unary" ? "unary" : "stream"]);
        return undefined;
      })
      .catch((error: unknown) => {
        // Aborted: the client has disconnected.
        if (ConnectError.from(error).code !== Code.Aborted)
          log.error("Cannot answer a request to an API", { path, error });
        response.destroy();
      });
  };
}

function readRequest(request: IncomingMessage, response: ServerResponse): UniversalServerRequest | undefined {
  try {
    return universalRequestFromNodeRequest(request, response, undefined, createContextValues().set(RESPONSE, response));
  } catch {
    return undefined; // It fails only without a valid Host header.
  }
}

/** The error for a client of Connect or gRPC-web, whose codes have the names of those of gRPC. */
export function connectErrorOf(error: unknown, log: Log): ConnectError {
  const { code, message } = refusalOf(error, log);
  const isBusy = error instanceof ReportError && error.code === "ANSWERS_EXCEEDED";
  const headers = isBusy ? { [RETRY_AFTER.name]: RETRY_AFTER.value } : undefined;
  return new ConnectError(message, codeFromString(code.toLowerCase()), headers);
}

function respondError(response: ServerResponse, status: number, code: string, message: string): void {
  const body = `${JSON.stringify({ code, message })}\n`;
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}
