// Calls a method of the control plane that streams, by the Connect protocol with JSON.
import { type DescMessage, fromJson, type JsonValue, type MessageShape } from "@bufbuild/protobuf";

import { enveloped, EnvelopeReader } from "./envelopes.ts";

/** A method, and what it is asked. */
export interface AskedMethod<Response extends DescMessage> {
  /** `<package>.<service>/<method>`. */
  readonly method: string;
  /** As JSON. */
  readonly request: unknown;
  readonly response: Response;
}

/** The answers of the server at `base`; fails with an Error that says why the stream ended. */
export async function* watchMethod<Response extends DescMessage>(
  base: string,
  { method, request, response }: AskedMethod<Response>,
  signal: AbortSignal,
): AsyncGenerator<MessageShape<Response>, void, undefined> {
  const answer = await fetch(`${base}/${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1" },
    body: enveloped(request),
    signal,
  });
  if (!answer.ok || answer.body === null) throw new Error(await refusalOf(answer));
  const reader = new EnvelopeReader();
  // Not every browser iterates over a stream itself.
  const pieces = answer.body.getReader();
  for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
    for (const { isEnd, json } of reader.read(piece.value)) {
      if (isEnd) throw new Error(endReason(json));
      yield fromJson(response, json as JsonValue, { ignoreUnknownFields: true });
    }
  }
}

function endReason(json: unknown): string {
  const { error } = json as { readonly error?: { readonly message?: string; readonly code?: string } };
  return error === undefined ? "it has ended the stream" : (error.message ?? error.code ?? "it has failed");
}

/** The words of a refusal, where it has any. */
export async function refusalOf(answer: Response): Promise<string> {
  const { message } = (await answer.json().catch(() => ({}))) as { readonly message?: string };
  return message ?? `it answers with HTTP status ${answer.status}`;
}
