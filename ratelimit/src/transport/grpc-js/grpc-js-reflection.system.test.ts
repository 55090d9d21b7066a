import { describeReflection } from "../reflection/reflection.suite.ts";
import { GrpcJsTransport } from "./grpc-js-transport.ts";

describeReflection({ name: "grpc-js", create: (deps, options) => new GrpcJsTransport(deps, options) });
