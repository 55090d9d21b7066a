"""An OTLP receiver for tests, made of OpenTelemetry's published messages: it takes spans over gRPC and over HTTP, and prints what it got, one JSON object per line.

The first line tells the ports: {"grpc": 4317, "http": 4318}. Then comes one line for each span:
how it came ("via", "headers", "encoding"), its resource, its scope and the span itself. With the paths of a certificate and its key as arguments both ports
speak TLS. It is no collector: it keeps nothing and accepts everything.
"""

import concurrent.futures
import gzip
import http.server
import json
import ssl
import sys
import threading

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

PRINTING = threading.Lock()


def say(value):
    with PRINTING:
        print(json.dumps(value, sort_keys=True), flush=True)


def plain(value):
    """What an AnyValue holds."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return None if kind is None else getattr(value, kind)


def attributes(pairs):
    return {pair.key: plain(pair.value) for pair in pairs}


def tell(request, how):
    for of_resource in request.resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                say(
                    {
                        **how,
                        "resource": attributes(of_resource.resource.attributes),
                        "scope": of_scope.scope.name,
                        "name": span.name,
                        "kind": span.kind,
                        "traceId": span.trace_id.hex(),
                        "spanId": span.span_id.hex(),
                        "parentSpanId": span.parent_span_id.hex(),
                        "attributes": attributes(span.attributes),
                        "events": [{"name": event.name, "attributes": attributes(event.attributes)} for event in span.events],
                        "status": {"code": span.status.code, "message": span.status.message},
                        "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
                    }
                )


class Traces(trace_service_pb2_grpc.TraceServiceServicer):
    def Export(self, request, context):
        headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        tell(request, {"via": "grpc", "headers": headers, "encoding": ""})
        return trace_service_pb2.ExportTraceServiceResponse()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])) if "content-length" in self.headers else self.read_chunks()
        encoding = self.headers.get("content-encoding", "")
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(gzip.decompress(body) if encoding == "gzip" else body)
        headers = {key.lower(): value for key, value in self.headers.items()}
        tell(request, {"via": "http", "headers": {**headers, ":path": self.path}, "encoding": encoding})
        answer = trace_service_pb2.ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def read_chunks(self):
        body = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return body

    def log_message(self, *_):
        pass  # Standard output is for spans.


def main(certificate=None, key=None):
    grpc_server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Traces(), grpc_server)
    http_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is None:
        grpc_port = grpc_server.add_insecure_port("127.0.0.1:0")
    else:
        with open(certificate, "rb") as chain, open(key, "rb") as secret:
            credentials = grpc.ssl_server_credentials([(secret.read(), chain.read())])
        grpc_port = grpc_server.add_secure_port("127.0.0.1:0", credentials)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        http_server.socket = context.wrap_socket(http_server.socket, server_side=True)
    grpc_server.start()
    say({"grpc": grpc_port, "http": http_server.server_address[1]})
    http_server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:3])
