// Decodes responses in slices, and each resource once while it stays as it is: its configuration is then the same
// object, so that its rules are kept.
import { hash } from "node:crypto";

import type { RateLimitConfigModel } from "@weir/limits/model/model";
import type { DiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";

import { timeSlicedLoad } from "../time-sliced-load.ts";
import { decodeResponseSteps, type ResponseContent } from "./ads-messages.ts";

/** Decodes the responses of one source, one at a time. */
export class ResponseDecoder {
  /** The configurations of the last response that could be decoded, by the digest of the resource. */
  #known: ReadonlyMap<string, RateLimitConfigModel> = new Map();

  async decode(response: DiscoveryResponse): Promise<ResponseContent> {
    const present = new Map<string, RateLimitConfigModel>();
    const content = await timeSlicedLoad(
      decodeResponseSteps(response, ({ typeUrl, value }, decode) => {
        const digest = `${typeUrl} ${hash("sha256", value, "base64")}`;
        const config = this.#known.get(digest) ?? decode();
        if (typeof config !== "string") present.set(digest, config);
        return config;
      }),
    );
    if (content.kind === "configs") this.#known = present;
    return content;
  }
}
