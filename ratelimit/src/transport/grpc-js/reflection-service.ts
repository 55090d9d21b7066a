// gRPC reflection over grpc-js, versions v1 and v1alpha: clients such as grpcurl call the service
// without its .proto files. reflection-answers.ts, loaded on the first request, has the answers.
import { type handleBidiStreamingCall, type ServerDuplexStream, type ServiceDefinition, status } from "@grpc/grpc-js";

/** Both versions; clients try the first and fall back to the other. */
const SERVICES = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"] as const;

/** Most streams at a time: each belongs to a person or a tool. */
const STREAMS_MAX = 100;

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
  const streams = new Set<ReflectionStream>();
  let isEnded = false;
  return {
    definitions: SERVICES.map(definition),
    handlers: {
      serverReflectionInfo(stream) {
        if (isEnded) refuse(stream, status.UNAVAILABLE, "the server is shutting down");
        else if (streams.size >= STREAMS_MAX)
          refuse(stream, status.RESOURCE_EXHAUSTED, `too many reflection streams, the maximum is ${STREAMS_MAX}`);
        else {
          streams.add(stream);
          const forget = (): void => void streams.delete(stream);
          stream.on("cancelled", forget).on("error", forget).on("end", forget);
          answerAll(stream).catch((error: unknown) => {
            refuse(stream, status.INTERNAL, error instanceof Error ? error.message : "the request cannot be answered");
          });
        }
      },
    },
    end() {
      isEnded = true;
      for (const stream of streams) refuse(stream, status.UNAVAILABLE, "the server is shutting down");
      streams.clear();
    },
  };
}

/** Rejects for bytes that are no request. Reads no faster than the client takes the answers. */
async function answerAll(stream: ReflectionStream): Promise<void> {
  const { answerReflection } = await import("./reflection-answers.ts");
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

function definition(service: string): ServiceDefinition {
  const asIs = (bytes: Buffer): Buffer => bytes;
  return {
    serverReflectionInfo: {
      path: `/${service}/ServerReflectionInfo`,
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

function refuse(stream: ReflectionStream, code: number, details: string): void {
  stream.emit("error", { code, details });
}
