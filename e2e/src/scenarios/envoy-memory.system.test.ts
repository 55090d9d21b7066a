// Envoy → pod with counters in its own memory.
import { describeEnvoy } from "./envoy.suite.ts";

describeEnvoy("counters in memory", () =>
  Promise.resolve({ podEnv: { BACKEND_TYPE: "memory" }, stop: () => Promise.resolve() }),
);
