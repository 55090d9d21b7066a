// The rollout API over HTTP/1.1, by the Connect protocol (plain JSON for curl) and gRPC-web. Import
// it lazily: its packages take time to load.
import type { IncomingMessage, ServerResponse } from "node:http";

import {
  Code,
  ConnectError,
  type ConnectRouter,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { Log } from "@weir/common/log/log";
import { RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { ReportErrorCode } from "../../errors.ts";
import { deliveryOfResponse, RETRY_AFTER } from "../concurrency-limit.ts";
import { ReportError } from "../report-error.ts";
import type { RolloutApiDeps } from "./rollout-grpc.ts";
import { filterOf } from "./rollout-message.ts";

/** Largest request, in bytes: a filter is three names. */
const REQUEST_MAX_BYTES = 64 * 1024;

/** The codes of our errors in Connect and gRPC-web. */
const CONNECT_CODE = {
  WATCHERS_EXCEEDED: Code.ResourceExhausted,
  ANSWERS_EXCEEDED: Code.ResourceExhausted,
  SHUTTING_DOWN: Code.Unavailable, // Another replica answers.
  CLIENT_STATUS_REFUSED: Code.InvalidArgument,
} as const satisfies Record<ReportErrorCode, Code>;

/** The answer outside the protocol: unary methods take plain JSON, streaming ones envelopes. */
const HOW_TO_ASK = {
  unary: "POST a message to this path with the header content-type: application/json (or use Connect or gRPC-web)",
  stream:
    "this method streams: POST an enveloped message to this path with the header content-type: application/connect+json, or use Connect or gRPC-web; GetRollout takes plain JSON",
} as const;

/** Where the answer to a request goes. */
const RESPONSE = createContextKey<ServerResponse | undefined>(undefined);

/** Answers a request to a method of the service. */
export type RolloutHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Makes the handler. */
export function createRolloutHandler(deps: RolloutApiDeps): RolloutHandler {
  const { log } = deps;
  const options = {
    grpc: false,
    acceptCompression: [compressionGzip],
    readMaxBytes: REQUEST_MAX_BYTES,
    // An unknown filter would otherwise be ignored silently.
    jsonOptions: { ignoreUnknownFields: false },
    interceptors: [translateErrors(log)],
  };
  const router = createConnectRouter(options);
  addRollout(router, deps);
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
          log.error("Cannot answer a request to the rollout API", { path, error });
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

function addRollout(router: ConnectRouter, { feed, limit }: RolloutApiDeps): void {
  router.service(RolloutService, {
    getRollout: ({ filter }, { values }) => {
      const response = values.get(RESPONSE);
      limit.admit(response === undefined ? undefined : deliveryOfResponse(response));
      return { rollout: feed.get(filterOf(filter)) };
    },
    async *watchRollout({ filter }, { signal }) {
      for await (const rollout of feed.watch(filterOf(filter), signal)) yield { rollout };
    },
  });
}

/** Translates a ReportError to Connect's error; any other error is logged and becomes Internal. */
function translateErrors(log: Log): Interceptor {
  const translate = (error: unknown): unknown => {
    if (error instanceof ConnectError) return error;
    if (error instanceof ReportError) {
      const isBusy = error.code === "ANSWERS_EXCEEDED";
      return new ConnectError(
        error.message,
        CONNECT_CODE[error.code],
        isBusy ? { [RETRY_AFTER.name]: RETRY_AFTER.value } : undefined,
      );
    }
    log.error("Cannot report the rollout", { error });
    return new ConnectError("internal error", Code.Internal);
  };
  return (next) => async (request) => {
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: translateStream(response.message, translate) };
    } catch (error) {
      throw translate(error);
    }
  };
}

async function* translateStream<T>(
  messages: AsyncIterable<T>,
  translate: (error: unknown) => unknown,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* messages;
  } catch (error) {
    throw translate(error);
  }
}

function respondError(response: ServerResponse, status: number, code: string, message: string): void {
  const body = `${JSON.stringify({ code, message })}\n`;
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}
