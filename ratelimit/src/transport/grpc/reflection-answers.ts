// The answers of the reflection service, from the descriptors inside the generated code; loaded on
// the first request. Versions v1 and v1alpha have the same bytes, so one answers both.
import { create, createRegistry, type DescFile, fromBinary, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { file_envoy_service_ratelimit_v3_rls } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { file_grpc_health_v1_health } from "@weir/proto/generated/grpc/health/v1/health_pb";
import {
  ErrorResponseSchema,
  ExtensionNumberResponseSchema,
  file_grpc_reflection_v1_reflection,
  FileDescriptorResponseSchema,
  ListServiceResponseSchema,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "@weir/proto/generated/grpc/reflection/v1/reflection_pb";
import { file_grpc_reflection_v1alpha_reflection } from "@weir/proto/generated/grpc/reflection/v1alpha/reflection_pb";

/** The files whose services the listener has. */
const ROOTS = [
  file_envoy_service_ratelimit_v3_rls,
  file_grpc_health_v1_health,
  file_grpc_reflection_v1_reflection,
  file_grpc_reflection_v1alpha_reflection,
] as const;

/** gRPC status codes that an answer can carry. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

/** Longest name that an answer repeats, in characters. */
const NAME_MAX = 200;

type Answer = ServerReflectionResponse["messageResponse"];

const files = filesWithImports(ROOTS);
const registry = createRegistry(...files.values());

/** The answer to the bytes of a ServerReflectionRequest. Throws when they are none. */
export function answerReflection(bytes: Uint8Array): Uint8Array {
  const request = fromBinary(ServerReflectionRequestSchema, bytes);
  const response = create(ServerReflectionResponseSchema, { validHost: request.host, originalRequest: request });
  response.messageResponse = answerOf(request);
  return toBinary(ServerReflectionResponseSchema, response);
}

function answerOf({ messageRequest }: ServerReflectionRequest): Answer {
  switch (messageRequest.case) {
    case "listServices":
      return listing();
    case "fileByFilename":
      return fileAnswer(files.get(messageRequest.value), `there is no file ${quoted(messageRequest.value)}`);
    case "fileContainingSymbol":
      return fileAnswer(
        fileOfSymbol(registry, messageRequest.value),
        `there is no symbol ${quoted(messageRequest.value)}`,
      );
    case "fileContainingExtension":
      return refusal(NOT_FOUND, `there is no extension of ${quoted(messageRequest.value.containingType)}`);
    case "allExtensionNumbersOfType":
      // None of the files declares an extension.
      if (registry.getMessage(messageRequest.value) === undefined) {
        return refusal(NOT_FOUND, `there is no message ${quoted(messageRequest.value)}`);
      }
      return {
        case: "allExtensionNumbersResponse",
        value: create(ExtensionNumberResponseSchema, { baseTypeName: messageRequest.value }),
      };
    case undefined:
      return refusal(INVALID_ARGUMENT, "the request asks nothing");
  }
}

function listing(): Answer {
  const names = ROOTS.flatMap((file) => file.services.map((service) => service.typeName)).sort();
  return {
    case: "listServicesResponse",
    value: create(ListServiceResponseSchema, { service: names.map((name) => ({ name })) }),
  };
}

/** The file with everything that it imports, so that one answer is all that a client needs. */
function fileAnswer(file: DescFile | undefined, reason: string): Answer {
  if (file === undefined) return refusal(NOT_FOUND, reason);
  const needed = [...filesWithImports([file]).values()].reverse(); // The requested file comes first.
  return {
    case: "fileDescriptorResponse",
    value: create(FileDescriptorResponseSchema, {
      fileDescriptorProto: needed.map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto)),
    }),
  };
}

function refusal(errorCode: number, errorMessage: string): Answer {
  return { case: "errorResponse", value: create(ErrorResponseSchema, { errorCode, errorMessage }) };
}

/**
 * The file that declares a type or a service, or a member of one: a method, field, oneof or enum
 * value.
 */
function fileOfSymbol(types: Registry, name: string): DescFile | undefined {
  const own = types.get(name);
  if (own !== undefined) return own.file;
  const dot = name.lastIndexOf(".");
  const [scope, member] = [name.slice(0, Math.max(0, dot)), name.slice(dot + 1)];
  for (const type of types) {
    // An enum value has the scope of its enum, as in C++.
    if (type.kind === "enum" && scopeOf(type.typeName) === scope && type.values.some((value) => value.name === member))
      return type.file;
  }
  const parent = types.get(scope);
  switch (parent?.kind) {
    case "service":
      return parent.methods.some((method) => method.name === member) ? parent.file : undefined;
    case "message":
      return parent.fields.some((field) => field.name === member) ||
        parent.oneofs.some((oneof) => oneof.name === member)
        ? parent.file
        : undefined;
    default:
      return undefined;
  }
}

function scopeOf(typeName: string): string {
  return typeName.slice(0, Math.max(0, typeName.lastIndexOf(".")));
}

/** By their full names, each behind those that it imports. */
function filesWithImports(roots: readonly DescFile[]): ReadonlyMap<string, DescFile> {
  const found = new Map<string, DescFile>();
  const visit = (file: DescFile): void => {
    if (found.has(file.proto.name)) return;
    for (const dependency of file.dependencies) visit(dependency);
    found.set(file.proto.name, file);
  };
  roots.forEach(visit);
  return found;
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, NAME_MAX));
}
