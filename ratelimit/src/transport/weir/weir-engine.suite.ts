// The engine under test.
import type { GrpcEngine } from "../grpc-engine.suite.ts";
import { WeirTransport } from "./weir-transport.ts";

/** The engine with the usual maxima of requests. */
export const WEIR: GrpcEngine = {
  name: "weir",
  create: (deps, options) =>
    new WeirTransport(
      { ...deps, random: Math.random },
      { ...options, request: { maxDescriptors: 1000, maxEntries: 100 } },
    ),
};
