// A receiver of OTLP in another language, made of OpenTelemetry's published messages: what programs
// under test export, as others read it. The receiver itself is a program in Python, which `node
// tools/test/test-setup.ts` makes ready. Only integration tests import it.
import assert from "node:assert";
import { fileURLToPath } from "node:url";

import { eventually } from "../processes/eventually.ts";
import { startProgram } from "../processes/start-process.ts";
import { findTool } from "../processes/tools.ts";

const RECEIVER = fileURLToPath(new URL("../../../ratelimit/oracle/otlp-receiver/receiver.py", import.meta.url));

/** The folder of a Python with the official messages. */
const PYTHON_FOLDER = "opentelemetry-proto-1.45.2";

/** Longest wait for the receiver, in milliseconds: Python loads much before it listens. */
const START_TIMEOUT_MS = 40_000;

export interface ReceivedSpan {
  /** `grpc` or `http`. */
  readonly via: string;
  /** Headers or metadata of the request that brought it, and how its body was packed. */
  readonly headers: Readonly<Record<string, string>>;
  readonly encoding: string;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  /** Code 2 is an error. */
  readonly status: { readonly code: number; readonly message: string };
  /** How long it lasted. */
  readonly nanoseconds: number;
}

/** A receiver that runs. */
export interface OtlpReceiver {
  /** The address for exporters that speak this protocol. */
  endpoint(protocol: "grpc" | "http"): string;
  readonly ports: Readonly<Record<"grpc" | "http", number>>;
  /** Everything that it has received. */
  spans(): readonly ReceivedSpan[];
  stop(): Promise<void>;
}

/** Starts a receiver on free ports of 127.0.0.1. With paths of a certificate and its key it speaks TLS. */
export async function startOtlpReceiver(tls?: {
  readonly certPath: string;
  readonly keyPath: string;
}): Promise<OtlpReceiver> {
  const args = [RECEIVER, ...(tls === undefined ? [] : [tls.certPath, tls.keyPath])];
  const receiver = startProgram(findTool(PYTHON_FOLDER, "python"), args);
  const lines = (): readonly string[] => receiver.output().split("\n").slice(0, -1);
  await eventually(
    "the receiver to listen",
    () => assert(lines().length > 0 || !receiver.isRunning()),
    START_TIMEOUT_MS,
  );
  const [first] = lines();
  if (first === undefined) throw receiver.endedError(await receiver.exited);
  const ports = JSON.parse(first) as Readonly<Record<"grpc" | "http", number>>;
  return {
    ports,
    endpoint: (protocol) => `http://127.0.0.1:${ports[protocol]}`,
    spans: () =>
      lines()
        .slice(1)
        .map((line) => JSON.parse(line) as ReceivedSpan),
    stop: async () => {
      await receiver.end();
    },
  };
}
