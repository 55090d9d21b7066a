// gRPC reflection over grpc-js.
import type { handleBidiStreamingCall, ServerDuplexStream, ServiceDefinition } from "@grpc/grpc-js";

import type { EndableStream } from "../open-streams.ts";
import {
  createReflectionStreams,
  loadReflectionAnswers,
  REFLECTION_PATHS,
  reflectionFailure,
} from "../reflection/reflection-streams.ts";
import { endStream } from "./end-stream.ts";

/** Requests and answers as bytes, which reflection-answers.ts decodes. */
type ReflectionStream = ServerDuplexStream<Buffer, Buffer>;

/** The services for `Server.addService`. */
export interface ReflectionService {
  readonly definitions: readonly ServiceDefinition[];
  readonly handlers: { readonly serverReflectionInfo: handleBidiStreamingCall<Buffer, Buffer> };
  /** Ends all streams, and every later one immediately. */
  end(): void;
}

/** Makes the services. */
export function createReflectionService(): ReflectionService {
  const streams = createReflectionStreams<EndableStream>();
  return {
    definitions: REFLECTION_PATHS.map(definition),
    handlers: {
      serverReflectionInfo(stream) {
        const open: EndableStream = { end: (name, message) => endStream(stream, name, message) };
        if (!streams.add(open)) return;
        const forget = (): void => streams.delete(open);
        stream.on("cancelled", forget).on("error", forget).on("end", forget);
        answerAll(stream).catch((error: unknown) => open.end("INTERNAL", reflectionFailure(error)));
      },
    },
    end: () => streams.end(),
  };
}

/** Rejects for bytes that are no request. Reads no faster than the client takes the answers. */
async function answerAll(stream: ReflectionStream): Promise<void> {
  const answerReflection = await loadReflectionAnswers();
  await new Promise<void>((resolve, reject) => {
    stream.on("data", (bytes: Buffer) => {
      try {
        const answer = answerReflection(bytes);
        if (!stream.write(Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength))) {
          stream.pause();
          stream.once("drain", () => stream.resume());
        }
      } catch (error) {
        // The parser's own error: the bytes are no ServerReflectionRequest.
        reject(error instanceof Error ? error : new TypeError("the request cannot be parsed"));
      }
    });
    stream.on("end", () => {
      stream.end();
      resolve();
    });
  });
}

function definition(path: string): ServiceDefinition {
  const asIs = (bytes: Buffer): Buffer => bytes;
  return {
    serverReflectionInfo: {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
      originalName: "ServerReflectionInfo",
    },
  };
}
