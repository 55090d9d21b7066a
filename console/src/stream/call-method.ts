// Calls a method of the control plane that answers once, by the Connect protocol with JSON.
import { type DescMessage, fromJson, type JsonValue, type MessageShape } from "@bufbuild/protobuf";

import { type AskedMethod, refusalOf } from "./watch-method.ts";

/** The answer of the server at `base`; fails with an Error that says why there is none. */
export async function callMethod<Response extends DescMessage>(
  base: string,
  { method, request, response }: AskedMethod<Response>,
  signal: AbortSignal,
): Promise<MessageShape<Response>> {
  const answer = await fetch(`${base}/${method}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" },
    body: JSON.stringify(request),
    signal,
  });
  if (!answer.ok) throw new Error(await refusalOf(answer));
  return fromJson(response, (await answer.json()) as JsonValue, { ignoreUnknownFields: true });
}
