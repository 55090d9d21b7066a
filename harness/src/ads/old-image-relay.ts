// A relay between a pod and the control plane that makes the pod behave like an old image: it replaces
// the unit "week" by an unknown number, so that the pod NACKs valid rules.
import { toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import type { DiscoveryResponse } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import {
  type RateLimitDescriptor,
  RateLimitConfigSchema,
  RateLimitUnit,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import type { Env } from "../processes/programs.ts";
import { messageBytes, ScriptedAdsServer } from "./ads-server.ts";
import { configsIn } from "./pod-end.ts";
import { ScriptedPod, tlsOf } from "./scripted-pod.ts";

/** A number that no unit has. */
const UNKNOWN_UNIT = 99;

/** A relay that listens. */
export interface OldImageRelay {
  /** The settings of a pod that connects to it, which is without TLS. */
  readonly podEnv: Env;
  stop(): void;
}

/** Starts a relay to the control plane at a port of this machine, with the certificate of a pod. */
export async function startOldImageRelay(
  controlPlanePort: number,
  certificates: DevelopmentCertificates,
): Promise<OldImageRelay> {
  const tls = tlsOf(certificates);
  const server = new ScriptedAdsServer(async (stream) => {
    const answer = (response: DiscoveryResponse): undefined => {
      stream.write(messageBytes(withoutWeeks(response)));
    };
    const upstream = new ScriptedPod(controlPlanePort, { tls, answer });
    void upstream.ended().then(() => stream.end(status.UNAVAILABLE));
    for (let count = 1; await stream.hasReceived(count); count += 1) {
      const request = stream.requests[count - 1]!;
      if (request.node !== undefined) request.node.clientFeatures = []; // Old images ask for no heartbeats.
      upstream.send(request);
    }
    upstream.close();
  });
  await server.open();
  return {
    podEnv: {
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${server.port}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "",
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "",
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "",
    },
    stop: () => server.close(),
  };
}

function withoutWeeks(response: DiscoveryResponse): DiscoveryResponse {
  for (const [index, config] of configsIn(response).entries()) {
    replaceWeeks(config.descriptors);
    response.resources[index]!.value = toBinary(RateLimitConfigSchema, config);
  }
  return response;
}

function replaceWeeks(descriptors: readonly RateLimitDescriptor[]): void {
  for (const { rateLimit, descriptors: below } of descriptors) {
    if (rateLimit?.unit === RateLimitUnit.WEEK) rateLimit.unit = UNKNOWN_UNIT as RateLimitUnit;
    replaceWeeks(below);
  }
}
