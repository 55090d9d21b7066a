// WatchCounts in the protocol of Connect with JSON, as pages ask for it. Import it lazily, as the handler of Connect.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";

import { fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { endStreamFlag, endStreamToJson } from "@connectrpc/connect/protocol-connect";
import type { Log } from "@weir/common/log/log";
import { WatchCountsRequestSchema } from "@weir/proto/generated/weir/console/v1/console_pb";

import type { CountsFilter } from "../observe/observe-hub.ts";
import { connectErrorOf } from "../report/connect-handler.ts";
import type { ConsoleFeed } from "./console-feed.ts";
import { countsJson } from "./counts-json.ts";

/** The path on which it is served, and its media type. */
const PATH = "/weir.console.v1.ConsoleService/WatchCounts";
const MEDIA_TYPE = "application/connect+json";

/** Largest request, in bytes: names of rules. */
const REQUEST_MAX_BYTES = 64 * 1024;

/** Bytes before a message: flags, and its length. */
const PREFIX_BYTES = 5;

/** Returns true if it is such a request. Clients that want compression are served by Connect. */
export function isCountsRequest({ method, url, headers }: IncomingMessage): boolean {
  const isPlain = headers["connect-accept-encoding"] === undefined && headers["connect-content-encoding"] === undefined;
  return method === "POST" && url === PATH && headers["content-type"] === MEDIA_TYPE && isPlain;
}

/** Answers the request until the client leaves or the feed ends. */
export async function streamCounts(
  { feed, log }: { readonly feed: Pick<ConsoleFeed, "watch">; readonly log: Log },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const closed = new AbortController();
  response.on("close", () => closed.abort());
  response.writeHead(200, { "Content-Type": MEDIA_TYPE });
  let failure: ConnectError | undefined;
  try {
    const filter = readFilter(await readBody(request));
    for await (const each of feed.watch(filter, closed.signal)) {
      const isTaken = response.write(encodeEnvelope(0, Buffer.from(countsJson(each))));
      // Meanwhile the feed gathers what is new.
      if (!isTaken) await once(response, "drain", { signal: closed.signal });
    }
  } catch (error) {
    if (closed.signal.aborted) return;
    failure = error instanceof ConnectError ? error : connectErrorOf(error, log);
  }
  const end = JSON.stringify(endStreamToJson(new Headers(), failure, undefined));
  response.end(encodeEnvelope(endStreamFlag, Buffer.from(end)));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    pieces.push(piece);
    sizeBytes += piece.length;
    if (sizeBytes > PREFIX_BYTES + REQUEST_MAX_BYTES)
      throw new ConnectError(`the request is larger than ${REQUEST_MAX_BYTES} bytes`, Code.ResourceExhausted);
  }
  return Buffer.concat(pieces);
}

/** The one message of the request. */
function readFilter(body: Buffer): CountsFilter {
  if (body.length < PREFIX_BYTES || body[0] !== 0 || body.readUInt32BE(1) !== body.length - PREFIX_BYTES)
    throw new ConnectError("the request must be one message that is not compressed", Code.InvalidArgument);
  try {
    return fromJsonString(WatchCountsRequestSchema, body.toString("utf8", PREFIX_BYTES));
  } catch (error) {
    throw new ConnectError(`cannot read the request: ${(error as Error).message}`, Code.InvalidArgument);
  }
}
