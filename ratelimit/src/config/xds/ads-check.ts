// Checks the way from a configuration server to a pod: opens a stream as the pod does, applies the first response,
// and ACKs it.
import { setTimeout as delay } from "node:timers/promises";

import { describeError } from "@weir/common/errors/service-error";

import type { ConfigListener } from "../config-source.ts";
import { ack, type AdsResponse, decodeResponse, nack, type RequestContent, subscription } from "./ads-messages.ts";
import { AdsStream } from "./ads-stream.ts";
import type { XdsOptions } from "./xds-options.ts";

/** Wait after a failed attempt, in milliseconds: a server may just be starting. */
const RETRY_MS = 1000;

/** In the metadata of the node: Weir's control plane counts no such stream as a pod. */
const PROBE_METADATA = ["probe", "true"] as const;

/** The result of a check. */
export type AdsCheck =
  | { readonly kind: "loaded"; readonly version: string; readonly names: readonly string[] }
  /** `reason` is that of the last attempt. */
  | { readonly kind: "failed"; readonly reason: string };

type Attempt = AdsCheck | { readonly kind: "again"; readonly reason: string };

/** Connects until a response is loaded, or `end` is aborted. Calls `failed` with the reason of each failed attempt. */
export async function checkAds(
  deps: { readonly listener: ConfigListener; readonly failed: (reason: string) => void },
  options: XdsOptions,
  end: AbortSignal,
): Promise<AdsCheck> {
  const client = { ...options, nodeMetadata: new Map([...options.nodeMetadata, PROBE_METADATA]) };
  for (let last = ""; ;) {
    const attempt = await connectOnce(deps.listener, client, end);
    if (attempt.kind !== "again") return attempt;
    // An earlier failure explains more than the end of the time during a connection attempt does.
    if (end.aborted) return { kind: "failed", reason: last === "" ? attempt.reason : last };
    last = attempt.reason;
    deps.failed(last);
    await delay(RETRY_MS, undefined, { signal: end }).catch(() => undefined); // The end is seen above.
  }
}

async function connectOnce(listener: ConfigListener, options: XdsOptions, end: AbortSignal): Promise<Attempt> {
  const { promise, resolve } = Promise.withResolvers<Attempt>();
  let isConnected = false;
  let result: AdsCheck | undefined;
  const stop = (): void => {
    const none: Attempt = isConnected
      ? { kind: "failed", reason: "the configuration server has sent nothing" }
      : { kind: "again", reason: "there is no connection" };
    resolve(result ?? none);
  };
  end.addEventListener("abort", stop, { once: true });
  let stream: AdsStream | undefined;
  try {
    stream = new AdsStream(
      options,
      { variant: "sotw", request: subscription(""), expectsHeartbeat: false },
      {
        connected: () => {
          isConnected = true;
        },
        received: (response) => {
          void load(listener, response).then(({ answer, result: loaded }) => {
            if (result !== undefined) return;
            result = loaded;
            if (answer !== undefined) stream?.send(answer);
            if (result !== undefined) stream?.finish(); // The server ends the stream when it has read the answer.
          });
        },
        ended: (reason) => resolve(result ?? { kind: "again", reason }),
      },
    );
    return await promise;
  } catch (error) {
    return { kind: "again", reason: describeError(error) };
  } finally {
    end.removeEventListener("abort", stop);
    stream?.close();
  }
}

/** Returns the result of the response, and its ACK or NACK; neither for a response of another type. */
async function load(
  listener: ConfigListener,
  response: AdsResponse,
): Promise<{ readonly result?: AdsCheck; readonly answer?: RequestContent }> {
  if (!("versionInfo" in response)) return {}; // The stream is of the other variant.
  const content = decodeResponse(response);
  if (content.kind === "foreign") return {};
  const problem = content.kind === "invalid" ? content.reason : (await listener.apply(content.configs))?.message;
  if (problem !== undefined || content.kind === "invalid") {
    const reason = `the response cannot be loaded: ${problem}`;
    return { result: { kind: "failed", reason }, answer: nack("", response, `${problem}`) };
  }
  const names = content.configs.map(({ name }) => name);
  return {
    result: { kind: "loaded", version: response.versionInfo, names },
    answer: ack(response.versionInfo, response),
  };
}
