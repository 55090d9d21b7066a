// Takes what the measured servers send about themselves and throws it away: spans in OTLP over
// HTTP, statistics over UDP. A server whose telemetry went nowhere would spend its time on errors
// and not on what people run. Run as a process of its own.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";

/** What the program prints as one JSON line when it listens. */
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
