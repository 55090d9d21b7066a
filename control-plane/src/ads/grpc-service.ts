// What else is served on the listener for pods: services that stand later in the order of folders
// are handed to it in this shape.
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";

/** A service and what answers it. Its calls come from clients that may use the listener. */
export interface GrpcService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}
