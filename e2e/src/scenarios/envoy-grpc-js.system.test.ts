// Envoy → pod that serves gRPC with grpc-js.
import { describeEnvoy } from "./envoy.suite.ts";

describeEnvoy("counters in memory, served by grpc-js", () =>
  Promise.resolve({ podEnv: { BACKEND_TYPE: "memory", GRPC_ENGINE: "grpc-js" }, stop: () => Promise.resolve() }),
);
