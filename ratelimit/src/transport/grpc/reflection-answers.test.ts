import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "@weir/proto/generated/grpc/reflection/v1/reflection_pb";
import { describe, expect, it } from "vitest";

import { answerReflection } from "./reflection-answers.ts";

type Question = MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"];

function ask(messageRequest: NonNullable<Question> | undefined, host = ""): ServerReflectionResponse {
  const request = create(
    ServerReflectionRequestSchema,
    messageRequest === undefined ? { host } : { host, messageRequest },
  );
  return fromBinary(ServerReflectionResponseSchema, answerReflection(toBinary(ServerReflectionRequestSchema, request)));
}

/** The names of the files in the answer, or the error. */
function filesIn({ messageResponse }: ServerReflectionResponse): readonly string[] | string {
  if (messageResponse.case === "errorResponse")
    return `${messageResponse.value.errorCode} ${messageResponse.value.errorMessage}`;
  if (messageResponse.case !== "fileDescriptorResponse") throw new TypeError(`not files: ${messageResponse.case}`);
  return messageResponse.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
}

const RLS = "envoy/service/ratelimit/v3/rls.proto";
const HEALTH = "grpc/health/v1/health.proto";

describe("answerReflection()", () => {
  it("answerReflection() lists every service of the listener", () => {
    const { messageResponse } = ask({ case: "listServices", value: "" });
    expect(
      messageResponse.case === "listServicesResponse" && messageResponse.value.service.map(({ name }) => name),
    ).toEqual([
      "envoy.service.ratelimit.v3.RateLimitService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ]);
  });

  it("answerReflection() sends a file first and all that it imports behind it", () => {
    const files = filesIn(ask({ case: "fileByFilename", value: RLS }));
    expect(files[0]).toBe(RLS);
    expect(files).toEqual(
      expect.arrayContaining([
        "envoy/config/core/v3/base.proto",
        "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
        "google/protobuf/duration.proto",
        "google/protobuf/struct.proto",
      ]),
    );
    expect(new Set(files).size).toBe(files.length);
  });

  it.each([
    ["a service", "envoy.service.ratelimit.v3.RateLimitService", RLS],
    ["a method", "envoy.service.ratelimit.v3.RateLimitService.ShouldRateLimit", RLS],
    ["a message", "envoy.service.ratelimit.v3.RateLimitRequest", RLS],
    ["a nested message", "envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus", RLS],
    ["a field", "envoy.service.ratelimit.v3.RateLimitRequest.hits_addend", RLS],
    ["a nested enum", "grpc.health.v1.HealthCheckResponse.ServingStatus", HEALTH],
    ["a value of a nested enum", "grpc.health.v1.HealthCheckResponse.SERVING", HEALTH],
    ["a value of an enum of a package", "envoy.type.v3.WEEK", "envoy/type/v3/ratelimit_unit.proto"],
    [
      "a oneof",
      "grpc.reflection.v1alpha.ServerReflectionRequest.message_request",
      "grpc/reflection/v1alpha/reflection.proto",
    ],
    ["an imported message", "google.protobuf.Duration", "google/protobuf/duration.proto"],
  ])("answerReflection() finds the file of %s", (_what, symbol, file) => {
    expect(filesIn(ask({ case: "fileContainingSymbol", value: symbol }))[0]).toBe(file);
  });

  it.each<[string, NonNullable<Question> | undefined, string]>([
    ["a file", { case: "fileByFilename", value: "x.proto" }, '5 there is no file "x.proto"'],
    ["a symbol", { case: "fileContainingSymbol", value: "a.B" }, '5 there is no symbol "a.B"'],
    ["the empty symbol", { case: "fileContainingSymbol", value: "" }, '5 there is no symbol ""'],
    [
      "a field",
      { case: "fileContainingSymbol", value: "grpc.health.v1.HealthCheckRequest.x" },
      '5 there is no symbol "grpc.health.v1.HealthCheckRequest.x"',
    ],
    ["an object's own names", { case: "fileByFilename", value: "__proto__" }, '5 there is no file "__proto__"'],
    [
      "an extension",
      { case: "fileContainingExtension", value: { containingType: "a.B", extensionNumber: 1 } },
      '5 there is no extension of "a.B"',
    ],
    ["the extensions of a message", { case: "allExtensionNumbersOfType", value: "a.B" }, '5 there is no message "a.B"'],
    ["nothing", undefined, "3 the request asks nothing"],
    [
      "a name that is long",
      { case: "fileByFilename", value: "x".repeat(5000) },
      `5 there is no file "${"x".repeat(200)}"`,
    ],
  ])("answerReflection() answers NOT_FOUND when asked for %s", (_what, question, error) => {
    expect(filesIn(ask(question))).toBe(error);
  });

  it("answerReflection() knows no extensions of a known message", () => {
    const { messageResponse } = ask({ case: "allExtensionNumbersOfType", value: "grpc.health.v1.HealthCheckRequest" });
    expect(messageResponse).toMatchObject({
      case: "allExtensionNumbersResponse",
      value: { baseTypeName: "grpc.health.v1.HealthCheckRequest", extensionNumber: [] },
    });
  });

  it("answerReflection() repeats host and request", () => {
    expect(ask({ case: "fileByFilename", value: "x" }, "h")).toMatchObject({
      validHost: "h",
      originalRequest: { host: "h", messageRequest: { case: "fileByFilename", value: "x" } },
    });
  });

  it("answerReflection() throws when the bytes are no request", () => {
    expect(() => answerReflection(Buffer.from([0x1a, 0x05, 0x41]))).toThrow(RangeError);
  });
});
