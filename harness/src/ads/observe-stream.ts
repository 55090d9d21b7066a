// A stream of observations as a pod opens it, on the connection of its discovery stream. The test sends by hand.
import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  ObserveRequestSchema,
  type ObserveResponse,
  ObserveResponseSchema,
  ObserveService,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

import { grpcMessage } from "../http2/http2-frames.ts";
import { createMessageReader } from "./message-reader.ts";

/** The stream. */
export class ObserveStream {
  /** Responses with the counts that the control plane wants, in the order of arrival. */
  readonly wanted: ObserveResponse[] = [];
  /** The status, when it has ended. */
  readonly ended: Promise<{ readonly code: number; readonly details: string }>;
  readonly #stream: ClientHttp2Stream;

  constructor(session: ClientHttp2Session) {
    const { path } = serviceDefinition(ObserveService).observe;
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    this.#stream = session.request(headers);
    const { promise, resolve } = Promise.withResolvers<{ readonly code: number; readonly details: string }>();
    this.ended = promise;
    const read = createMessageReader((message) => this.wanted.push(fromBinary(ObserveResponseSchema, message)));
    this.#stream.on("data", read);
    for (const event of ["response", "trailers"]) {
      this.#stream.on(event, ({ "grpc-status": code, "grpc-message": details = "" }: Record<string, string>) => {
        if (code !== undefined) resolve({ code: Number(code), details: decodeURIComponent(details) });
      });
    }
    this.#stream.on("error", () => undefined); // "close" follows.
    this.#stream.on("close", () => resolve({ code: -1, details: "the stream was closed without a status" }));
  }

  send(content: MessageInitShape<typeof ObserveRequestSchema>["content"]): void {
    const request = create(ObserveRequestSchema, content === undefined ? {} : { content });
    this.#stream.write(grpcMessage(toBinary(ObserveRequestSchema, request)));
  }

  close(): void {
    this.#stream.close();
  }
}
