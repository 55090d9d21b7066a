// The rollout API over HTTP/1.1, by the Connect protocol (plain JSON for curl) and gRPC-web. Import
// it lazily: its packages take time to load. gRPC itself needs HTTP/2 and is spoken on the listener
// for pods.
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

import type { ReportErrorCode } from "../errors.ts";
import { type AnswerBound, deliveryOfResponse, RETRY_AFTER } from "./answer-bound.ts";
import { ReportError } from "./report-error.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { filterOf } from "./rollout-message.ts";

/** Largest request, in bytes: a filter is three names. */
const REQUEST_MAX_BYTES = 64 * 1024;

/** What our errors are called in Connect and gRPC-web. */
const CONNECT_CODE = {
  WATCHERS_EXCEEDED: Code.ResourceExhausted,
  ANSWERS_EXCEEDED: Code.ResourceExhausted,
  SHUTTING_DOWN: Code.Unavailable, // Another replica answers.
  CLIENT_STATUS_REFUSED: Code.InvalidArgument,
} as const satisfies Record<ReportErrorCode, Code>;

/**
 * What somebody hears who does not speak the protocol: a method that answers once takes plain JSON,
 * one that streams takes it in envelopes.
 */
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
export function createRolloutHandler(deps: {
  readonly feed: RolloutFeed;
  readonly answers: AnswerBound;
  readonly log: Log;
}): RolloutHandler {
  const { log } = deps;
  const options = {
    grpc: false,
    acceptCompression: [compressionGzip],
    readMaxBytes: REQUEST_MAX_BYTES,
    // A filter that is not known would otherwise narrow nothing, and say nothing of it.
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
        // Of a request that is none of the protocol Connect says nothing but the status; people
        // with curl want to know more.
        respondError(
          response,
          answer.status,
          "unknown",
          handler.method.methodKind === "unary" ? HOW_TO_ASK.unary : HOW_TO_ASK.stream,
        );
        return undefined;
      })
      .catch((error: unknown) => {
        // A client that has gone away is no fault.
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
    return undefined; // Its only ways to fail: no Host header, or one that is none.
  }
}

function addRollout(
  router: ConnectRouter,
  { feed, answers }: { readonly feed: RolloutFeed; readonly answers: AnswerBound },
): void {
  router.service(RolloutService, {
    getRollout: ({ filter }, { values }) => {
      const response = values.get(RESPONSE);
      answers.admit(response === undefined ? undefined : deliveryOfResponse(response));
      return { rollout: feed.get(filterOf(filter)) };
    },
    async *watchRollout({ filter }, { signal }) {
      for await (const rollout of feed.watch(filterOf(filter), signal)) yield { rollout };
    },
  });
}

/**
 * Our errors become Connect's; whatever else is thrown is our fault and is logged, because the
 * client is told nothing of it.
 */
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
    log.error("Cannot tell the rollout", { error });
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
