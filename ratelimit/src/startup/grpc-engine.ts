// Creates the gRPC engine that GRPC_ENGINE selects. grpc-js is loaded only when it is selected.
import type { GrpcSettings } from "../settings/server-settings.ts";
import type { Transport } from "../transport/transport.ts";
import { WeirTransport, type WeirTransportDeps, type WeirTransportOptions } from "../transport/weir/weir-transport.ts";

/** Dependencies of the engines. */
export type GrpcEngineDeps = Omit<WeirTransportDeps, "nowMs" | "random">;

/** Settings of the engines, and which one it is. */
export type GrpcEngineOptions = WeirTransportOptions & Pick<GrpcSettings, "engine">;

/** Creates the engine, not started yet. */
export async function createGrpcTransport(deps: GrpcEngineDeps, options: GrpcEngineOptions): Promise<Transport> {
  const nowMs = (): number => performance.now();
  switch (options.engine) {
    case "weir":
      return new WeirTransport({ ...deps, nowMs, random: Math.random }, options);
    case "grpc-js": {
      const { GrpcJsTransport } = await import("../transport/grpc-js/grpc-js-transport.ts");
      return new GrpcJsTransport({ ...deps, nowMs }, options);
    }
  }
}
