// Receives the telemetry of measured servers and drops it: spans in OTLP over HTTP, statistics over
// UDP. Without a receiver a server would spend its time on errors.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { STACK_HOST } from "@weir/dev/setup/ports";

/** Where it listens. */
export interface TelemetryPorts {
  /** OTLP over HTTP. */
  readonly traces: number;
  /** StatsD over UDP. */
  readonly statistics: number;
}

/** Starts a receiver in this process, which stays on the cores of the generator. */
export async function startTelemetrySink(): Promise<{ readonly ports: TelemetryPorts; stop(): void }> {
  // An empty body is an ExportTraceServiceResponse in which everything was accepted.
  const traces = createServer((request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(200, { "Content-Type": "application/x-protobuf" }).end());
  });
  const statistics = createSocket("udp4", () => undefined);
  await Promise.all([
    once(traces.listen(0, STACK_HOST), "listening"),
    once(statistics.bind(0, STACK_HOST), "listening"),
  ]);
  const ports = { traces: (traces.address() as AddressInfo).port, statistics: statistics.address().port };
  const stop = (): void => {
    traces.close().closeAllConnections();
    statistics.close();
  };
  return { ports, stop };
}
