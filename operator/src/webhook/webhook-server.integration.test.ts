// The listener of the webhook over real sockets: broken and oversized requests, and certificates that
// appear late and change.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";

import { type Authority, createAuthority } from "@weir/certificates/authority";
import { errorCode } from "@weir/common/errors/error-code";
import { createLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { Registry } from "prom-client";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { ReviewContext } from "./review.ts";
import { newMetrics } from "./webhook-metrics.suite.ts";
import { WebhookServer } from "./webhook-server.ts";

const HOST = "127.0.0.1";
const JSON_TYPE: Readonly<Record<string, string>> = { "content-type": "application/json" };
const REVIEW = {
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "1", kind: { group: "ratelimit.weir.dev", version: "v1alpha1", kind: "RateLimitConfig" } },
};

describe("WebhookServer", () => {
  let authority: Authority;
  let folder: string;
  let server: WebhookServer;
  let lines: unknown[];
  let context: ReviewContext;
  let registry: Registry;

  beforeAll(async () => {
    authority = await createAuthority({ commonName: "ca", now: new Date(), validDays: 1 });
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "weir-webhook-"));
    lines = [];
    registry = new Registry();
    const nothing = { list: () => [] };
    context = { clock: Date.now, configs: nothing, services: nothing, hasPods: () => undefined };
  });

  afterEach(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  async function writeFiles(commonName: string): Promise<void> {
    const options = { commonName, ipAddresses: [HOST], usage: "server", now: new Date(), validDays: 1 } as const;
    const { certPem, keyPem } = await authority.issue(options);
    writeFileSync(join(folder, "tls.key"), keyPem);
    writeFileSync(join(folder, "tls.crt"), certPem);
  }

  async function start(): Promise<void> {
    const write = (line: string): void => void lines.push((JSON.parse(line) as { "@message": unknown })["@message"]);
    const tls = { certPath: join(folder, "tls.crt"), keyPath: join(folder, "tls.key") };
    server = new WebhookServer(
      { log: createLog({ level: "info", format: "json", write }), context, metrics: newMetrics(registry) },
      { host: HOST, port: 0, tls, filesIntervalMs: 20 },
    );
    await server.start();
  }

  async function send(
    body: string | Buffer,
    { method = "POST", path = "/validate", headers = JSON_TYPE } = {},
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
    const options = {
      host: HOST,
      port: server.address()?.port,
      method,
      path,
      headers,
      ca: authority.certPem,
      agent: false,
    };
    const call = httpsRequest(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      response.on("error", reject);
    });
    call.on("error", reject);
    call.end(body);
    return await promise;
  }

  it("answers a review", async () => {
    await writeFiles("first");
    await start();
    expect(await send(JSON.stringify(REVIEW))).toEqual({
      status: 200,
      body: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: "1", allowed: true } },
    });
  });

  it.each([
    { title: "no JSON", body: "{", status: 400, message: "the body is not JSON" },
    { title: "another path", path: "/", status: 404, message: "there is only /validate" },
    { title: "another method", method: "GET", body: "", status: 405, message: "the method must be POST" },
    {
      title: "another type",
      headers: { "content-type": "application/yaml" },
      status: 415,
      message: "the body must be application/json",
    },
    {
      title: "a body that says that it is too long",
      body: "x",
      headers: { ...JSON_TYPE, "content-length": "9000000", expect: "100-continue" },
      status: 413,
      message: "the request is longer than 8388608 bytes",
    },
  ])("refuses $title with $status", async ({ body = "{}", status, message, ...options }) => {
    await writeFiles("first");
    await start();
    expect(await send(body, options)).toEqual({ status, body: { message } });
  });

  it("refuses a body that turns out to be too long, and continues to serve", async () => {
    await writeFiles("first");
    await start();
    const headers = { ...JSON_TYPE, "transfer-encoding": "chunked" };
    // The client may see the end of the connection before the answer.
    const outcome = await send(Buffer.alloc(9_000_000, 0x20), { headers }).then(
      ({ status }) => String(status),
      (error: unknown) => errorCode(error),
    );
    expect(["413", "EPIPE", "ECONNRESET"]).toContain(outcome);
    expect(await send(JSON.stringify(REVIEW))).toMatchObject({ status: 200 });
  });

  it("answers 500 when the review fails, and logs it", async () => {
    await writeFiles("first");
    context = {
      ...context,
      configs: {
        list: () => {
          throw new Error("broken");
        },
      },
    };
    await start();
    const object = {
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitConfig",
      metadata: { name: "a" },
      spec: { domain: "d" },
    };
    const review = { ...REVIEW, request: { ...REVIEW.request, object } };
    expect(await send(JSON.stringify(review))).toEqual({ status: 500, body: { message: "internal error" } });
    expect(lines).toContain("Cannot review a change");
  });

  it("counts requests of its path by code, and those that are cut off as none", async () => {
    await writeFiles("first");
    await start();
    const metricsOf = async () => await registry.metrics();
    expect(await metricsOf()).toContain('controller_runtime_webhook_requests_total{webhook="/validate",code="200"} 0');
    await send(JSON.stringify(REVIEW));
    await send("{");
    await send("{}", { path: "/" });
    const cut = connect({ host: HOST, port: server.address()?.port ?? 0, ca: authority.certPem });
    cut.on("error", () => undefined); // Its end is the point.
    cut.write(`POST /validate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`);
    await eventually("the request to be served", async () =>
      expect(await metricsOf()).toContain('controller_runtime_webhook_requests_in_flight{webhook="/validate"} 1'),
    );
    cut.destroy();
    await eventually("its end", async () =>
      expect(await metricsOf()).toContain('controller_runtime_webhook_requests_in_flight{webhook="/validate"} 0'),
    );
    const lines = (await metricsOf()).split("\n");
    expect(lines.filter((line) => line.startsWith("controller_runtime_webhook_requests_total"))).toEqual([
      'controller_runtime_webhook_requests_total{webhook="/validate",code="200"} 1',
      'controller_runtime_webhook_requests_total{webhook="/validate",code="500"} 0',
      'controller_runtime_webhook_requests_total{webhook="/validate",code="400"} 1',
    ]);
    expect(lines).toContain('controller_runtime_webhook_latency_seconds_count{webhook="/validate"} 2');
  });

  it("serves as soon as its certificate is there, and with each new one", async () => {
    await start();
    expect(server.address()).toBeUndefined();
    await writeFiles("first");
    await eventually("the webhook to serve", async () => {
      expect(await seenName()).toBe("first");
    });
    await writeFiles("second");
    await eventually("the new certificate", async () => {
      expect(await seenName()).toBe("second");
    });
    expect(lines.filter((line) => line === "The admission webhook is not served yet, retrying").length).toBeLessThan(4);
  });

  it("closes a connection that does not speak TLS", async () => {
    await writeFiles("first");
    await start();
    const plain = await fetch(`http://${HOST}:${server.address()?.port}/validate`).catch((error: unknown) => error);
    expect(plain).toBeInstanceOf(TypeError);
    expect(await send(JSON.stringify(REVIEW))).toMatchObject({ status: 200 });
  });

  async function seenName(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect({ host: HOST, port: server.address()?.port ?? 0, ca: authority.certPem }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
    return await promise;
  }
});
