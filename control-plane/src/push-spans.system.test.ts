// Spans of pushes as they leave the program: a real process, real pods, and a receiver made of
// OpenTelemetry's published messages, in another language.
import { mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "@weir/harness/servers/otlp-receiver.suite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { until } from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";

/** A status that says that what the span stands for failed. */
const FAILED = 2;

/**
 * Debounce, two pods and a busy machine; and yet no more than a minute, when a push is given up.
 */
const PUSH_MAX_NANOSECONDS = 20e9;

describe("weir-control-plane with tracing", () => {
  let folder: string;
  let receiver: OtlpReceiver;
  let program: Program | undefined;
  const pods: ScriptedPod[] = [];

  /** Writes a file with the resource, and with others that are no different. */
  function save(name: string, requestsPerUnit: number, ...others: readonly string[]): void {
    const texts = [name, ...others].map((each) => manifest({ name: each, domain: `domain-${each}`, requestsPerUnit }));
    writeFileSync(join(folder, `.${name}.tmp`), texts.join("---\n"));
    renameSync(join(folder, `.${name}.tmp`), join(folder, `${name}.yaml`));
  }

  async function start(protocol: "grpc" | "http"): Promise<number> {
    const listeners = {
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      ADS_PLAINTEXT: "true",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
    };
    const tracing = {
      TRACING_ENABLED: "true",
      TRACING_EXPORTER_PROTOCOL: protocol,
      TRACING_SERVICE_NAMESPACE: "limits",
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint(protocol),
      OTEL_BSP_SCHEDULE_DELAY: "100",
    };
    program = startSource("control-plane/src/main.ts", { SOURCE_DIRECTORY: folder, ...listeners, ...tracing });
    return Number((await program.find(/Control plane is up.*ads="127\.0\.0\.1:(\d+)"/))[1]);
  }

  async function connect(port: number, nodeId: string): Promise<ScriptedPod> {
    const pod = new ScriptedPod(port);
    pods.push(pod);
    pod.request({ node: { id: nodeId } });
    await pod.response(1);
    pod.accept();
    return pod;
  }

  async function end(): Promise<void> {
    expect(await program?.end("SIGINT")).toBe(0);
  }

  function pushes(): readonly ReceivedSpan[] {
    return receiver.spans().filter(({ name }) => name === "push");
  }

  /** The span of the push that brought this version. */
  async function pushOf(version: string): Promise<ReceivedSpan> {
    const find = (): ReceivedSpan | undefined =>
      pushes().find(({ attributes }) => attributes["weir.version"] === version);
    await until(`the span of ${version}`, () => find() !== undefined);
    return find()!;
  }

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-push-spans-")));
    save("a", 1);
    receiver = await startOtlpReceiver();
  });

  afterEach(async () => {
    for (const pod of pods.splice(0)) pod.close();
    await program?.end();
    program = undefined;
    await receiver.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(["http", "grpc"] as const)(
    "exports one span for a push over OTLP/%s, from the change to the last acceptance",
    async (protocol) => {
      const port = await start(protocol);
      const connected = [await connect(port, "gateway/1"), await connect(port, "gateway/2")];
      save("b", 1);
      save("c", 1);
      for (const pod of connected) {
        await until("both", () => pod.last.resources.length === 3);
        pod.accept();
      }
      const version = connected[0]?.last.versionInfo ?? "";
      const span = await pushOf(version);
      expect(span).toMatchObject({
        via: protocol,
        parentSpanId: "",
        resource: { "service.name": "weir-control-plane", "service.namespace": "limits" },
        attributes: {
          "weir.fleet": "*",
          "weir.version": version,
          "weir.resources": 3,
          "weir.pods": 2,
          "weir.pods.accepted": 2,
          "weir.pods.rejected": 0,
          "weir.pods.waiting": 0,
          "weir.outcome": "accepted",
        },
        events: [],
        status: { code: 0 },
      });
      expect(span.attributes["weir.resources.changed"]).toEqual(expect.arrayContaining(["default/c"]));
      // The time that a first change waits for others is a part of it.
      expect(span.nanoseconds).toBeGreaterThan(9e6);
      expect(span.nanoseconds).toBeLessThan(PUSH_MAX_NANOSECONDS);
      await end();
      expect(pushes().filter(({ attributes }) => attributes["weir.version"] === version)).toHaveLength(1);
    },
  );

  it("exports a NACK as an event of a span that failed, and the push of the repair as one that did not", async () => {
    const pod = await connect(await start("http"), "gateway/1");
    save("b", 500, "c");
    await pod.response(2);
    const rejected = pod.last.versionInfo;
    pod.reject("default/b: no unit of that name");
    const { versionInfo: left } = await pod.response(3);
    pod.accept();
    expect(await pushOf(rejected)).toMatchObject({
      attributes: {
        "weir.outcome": "rejected",
        "weir.resources.changed": ["default/b", "default/c"],
        "weir.pods.rejected": 1,
      },
      events: [
        {
          name: "rejected",
          attributes: { "weir.node": "gateway/1", "weir.rejection": "default/b: no unit of that name" },
        },
      ],
      status: { code: FAILED, message: "pods: rejected" },
    });
    save("b", 1, "c");
    const { versionInfo: repaired } = await pod.response(4);
    pod.accept();
    expect(await pushOf(repaired)).toMatchObject({
      attributes: {
        "weir.outcome": "accepted",
        "weir.resources": 3,
        "weir.resources.changed": ["default/b", "default/c"],
      },
      status: { code: 0 },
    });
    // A snapshot that one pod is sent instead is no push of the fleet.
    expect(pushes().map(({ attributes }) => attributes["weir.version"])).not.toContain(left);
  });

  it("exports the push that is under way when it ends", async () => {
    const pod = await connect(await start("http"), "gateway/1");
    save("b", 1);
    const { versionInfo } = await pod.response(2);
    await end();
    expect((await pushOf(versionInfo)).attributes).toMatchObject({
      "weir.outcome": "stopped",
      "weir.pods": 1,
      "weir.pods.waiting": 1,
    });
  });
});
