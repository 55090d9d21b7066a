// Finds the method of a request, or the reason why it has none.
import type { RequestHead } from "../headers/request-head.ts";
import type { Methods, StreamingMethod, UnaryMethod } from "./method.ts";
import { GrpcStatus } from "./status.ts";

/** A request that is answered without a method: in HTTP when it is not gRPC. */
export type Refusal =
  | { readonly kind: "http"; readonly status: number; readonly text: string }
  | { readonly kind: "grpc"; readonly status: number; readonly message: string; readonly namesEncodings: boolean };

/** The method or the refusal that answers a request. */
export type Route = UnaryMethod | StreamingMethod | Refusal;

/** Finds the route of a request. */
export function findRoute(methods: Methods, head: RequestHead): Route {
  if (!head.isGrpc)
    return { kind: "http", status: 415, text: "This port serves gRPC: content-type application/grpc\n" };
  if (head.method !== "POST") return { kind: "http", status: 405, text: "gRPC requests use the method POST\n" };
  const method = methods.get(head.path);
  if (method === undefined) return refuse(GrpcStatus.UNIMPLEMENTED, explainUnknown(methods, head.path));
  if (head.encoding !== undefined && head.encoding !== "identity") {
    const message = `grpc: Decompressor is not installed for grpc-encoding "${head.encoding}"`;
    return { ...refuse(GrpcStatus.UNIMPLEMENTED, message), namesEncodings: true };
  }
  if (Number.isNaN(head.timeoutMs)) return refuse(GrpcStatus.INTERNAL, "malformed grpc-timeout");
  return method;
}

function refuse(status: number, message: string) {
  return { kind: "grpc", status, message, namesEncodings: false } as const;
}

/** The words of grpc-go, which tell a wrong service from a wrong method. */
function explainUnknown(methods: Methods, path: string): string {
  const slash = path.lastIndexOf("/");
  if (!path.startsWith("/") || slash <= 0) return `malformed method name: "${path}"`;
  const prefix = path.slice(0, slash + 1);
  const service = path.slice(1, slash);
  for (const known of methods.keys())
    if (known.startsWith(prefix) && known.lastIndexOf("/") === slash)
      return `unknown method ${path.slice(slash + 1)} for service ${service}`;
  return `unknown service ${service}`;
}
