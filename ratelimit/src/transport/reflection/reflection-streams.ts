// gRPC reflection, versions v1 and v1alpha, for every gRPC engine: clients such as grpcurl call the
// service without its .proto files. reflection-answers.ts, loaded on the first request, has the answers.
import { type EndableStream, OpenStreams } from "../open-streams.ts";

/** Both versions; clients try the first and fall back to the other. */
export const REFLECTION_PATHS: readonly string[] = ["v1", "v1alpha"].map(
  (version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
);

/** Most streams at a time: each belongs to a person or a tool. */
const STREAMS_MAX = 100;

/** The open streams of a listener. */
export function createReflectionStreams<Stream extends EndableStream>(): OpenStreams<Stream> {
  return new OpenStreams({ what: "reflection streams", max: STREAMS_MAX });
}

/** Answers the bytes of one request. Throws when they are none. */
export type AnswerReflection = (bytes: Uint8Array) => Uint8Array;

/** Loads the answers. */
export async function loadReflectionAnswers(): Promise<AnswerReflection> {
  const { answerReflection } = await import("./reflection-answers.ts");
  return answerReflection;
}

/** The reason for ending a stream whose request cannot be answered. */
export function reflectionFailure(error: unknown): string {
  return error instanceof Error ? error.message : "the request cannot be answered";
}
