// Receives the telemetry of measured servers and drops it: spans in OTLP over HTTP, statistics over
// UDP. Without a receiver a server would spend its time on errors. A process of its own.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";

/** The JSON line that the program prints when it listens. */
export interface TelemetryPorts {
  /** OTLP over HTTP. */
  readonly traces: number;
  /** StatsD over UDP. */
  readonly statistics: number;
}

const HOST = "127.0.0.1";

// An empty body is an ExportTraceServiceResponse in which everything was accepted.
const traces = createServer((request, response) => {
  request.resume();
  request.once("end", () => response.writeHead(200, { "Content-Type": "application/x-protobuf" }).end());
});
const statistics = createSocket("udp4");
statistics.on("message", () => undefined);

traces.listen(0, HOST);
statistics.bind(0, HOST);
await Promise.all([once(traces, "listening"), once(statistics, "listening")]);
const address = traces.address();
const ports: TelemetryPorts = {
  traces: typeof address === "object" && address !== null ? address.port : 0,
  statistics: statistics.address().port,
};
process.stdout.write(`${JSON.stringify(ports)}\n`);
