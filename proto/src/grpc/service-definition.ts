// One adapter between protobuf-es services and grpc-js, for servers and clients alike. It builds a
// plain object and knows nothing of grpc-js itself, so that this workspace does not depend on it.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, DescMethod, DescService, MessageShape } from "@bufbuild/protobuf";

/** How one method is called and how its messages become bytes: the shape that grpc-js asks for. */
export interface MethodDefinition<Input, Output> {
  /** Path of the HTTP/2 request, `/<full service name>/<method>`. */
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (message: Input) => Buffer;
  readonly requestDeserialize: (bytes: Uint8Array) => Input;
  readonly responseSerialize: (message: Output) => Buffer;
  readonly responseDeserialize: (bytes: Uint8Array) => Output;
  /**
   * The method's name in the .proto file, under which grpc-js finds handlers and client methods
   * too.
   */
  readonly originalName: string;
}

/** The methods of a service by their TypeScript names (`shouldRateLimit`). */
export type ServiceDefinition<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: MethodDefinition<
    MessageShape<Service["method"][Name]["input"]>,
    MessageShape<Service["method"][Name]["output"]>
  >;
};

/**
 * The grpc-js definition of a service: for `server.addService` and `makeGenericClientConstructor`.
 * Bytes that are no valid message make the deserializer throw; grpc-js ends the call with INTERNAL.
 */
export function serviceDefinition<Service extends DescService>(service: Service): ServiceDefinition<Service> {
  const methods = service.methods.map((method) => [method.localName, methodDefinition(method)] as const);
  // The entries have exactly the keys and types of the mapped type, which Object.fromEntries cannot
  // express.
  return Object.fromEntries(methods) as unknown as ServiceDefinition<Service>;
}

function methodDefinition(method: DescMethod): MethodDefinition<MessageShape<DescMessage>, MessageShape<DescMessage>> {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming",
    responseStream: method.methodKind === "server_streaming" || method.methodKind === "bidi_streaming",
    requestSerialize: serializer(method.input),
    requestDeserialize: deserializer(method.input),
    responseSerialize: serializer(method.output),
    responseDeserialize: deserializer(method.output),
    originalName: method.name,
  };
}

function serializer<Schema extends DescMessage>(schema: Schema): (message: MessageShape<Schema>) => Buffer {
  return (message) => {
    const bytes = toBinary(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function deserializer<Schema extends DescMessage>(schema: Schema): (bytes: Uint8Array) => MessageShape<Schema> {
  // Unknown fields would be many objects, or keep the whole message in memory with a part of it.
  return (bytes) => fromBinary(schema, bytes, { readUnknownFields: false });
}
