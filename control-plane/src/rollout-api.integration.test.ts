// The rollout API as its clients reach it: curl's way, Connect, gRPC-web, and
// gRPC in plaintext and over mutual TLS.
import { mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { create, type DescService } from "@bufbuild/protobuf";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Client, credentials, type StatusObject } from "@grpc/grpc-js";
import { silentLog } from "@weir/common/log/log";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import {
  type GetRolloutResponse,
  GetRolloutRequestSchema,
  PodState,
  type Rollout,
  RolloutService,
  WatchRolloutRequestSchema,
  type WatchRolloutResponse,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  createTestCertificates,
  tlsOf,
  type TestCertificates,
  type TestIdentity,
  until,
} from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";

const GET = "/weir.rollout.v1.RolloutService/GetRollout";

describe("rollout API", () => {
  let folder: string;
  let controlPlane: ControlPlane;
  let certificates: TestCertificates | undefined;
  let pod: ScriptedPod | undefined;
  const clients: Client[] = [];

  function save(name: string, text: string): void {
    writeFileSync(join(folder, `.${name}.tmp`), text);
    renameSync(join(folder, `.${name}.tmp`), join(folder, name));
  }

  async function start(security: Readonly<Record<string, string>> = { ADS_PLAINTEXT: "true" }): Promise<void> {
    const listeners = {
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
    };
    const settings = parseSettings({ SOURCE_DIRECTORY: folder, ...listeners, ...security });
    controlPlane = new ControlPlane({ log: silentLog(), clock: Date.now, tracer: undefined }, settings);
    await controlPlane.lifecycle.start();
  }

  async function startWithTls(): Promise<TestCertificates> {
    certificates = await createTestCertificates();
    const { certPath, keyPath, caPath } = certificates.server;
    await start({
      ADS_TLS_CERT: certPath,
      ADS_TLS_KEY: keyPath,
      ADS_TLS_CLIENT_CACERT: caPath,
      ADS_ALLOWED_SANS: "ratelimit,operator",
    });
    return certificates;
  }

  function httpUrl(): string {
    return `http://127.0.0.1:${controlPlane.http.address()?.port ?? 0}`;
  }

  /** As curl does it. */
  async function post(
    body: string,
    path = GET,
    headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
  ) {
    return fetch(`${httpUrl()}${path}`, { method: "POST", body, headers });
  }

  function connectPod(identity?: TestIdentity): ScriptedPod {
    pod = new ScriptedPod(controlPlane.ads.address()?.port ?? 0, { tls: tlsOf(identity) });
    pod.request({ node: { id: "gateway/pod-7" } });
    return pod;
  }

  function grpcClient(identity?: TestIdentity): Client {
    const secure =
      identity === undefined
        ? credentials.createInsecure()
        : credentials.createSsl(
            Buffer.from(identity.caPem),
            Buffer.from(identity.keyPem),
            Buffer.from(identity.certPem),
          );
    const client = new Client(`127.0.0.1:${controlPlane.ads.address()?.port ?? 0}`, secure, {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_retries": 0,
      "grpc.ssl_target_name_override": "localhost",
    });
    clients.push(client);
    return client;
  }

  /** One call with one answer. */
  async function unary<Answer>(
    client: Client,
    service: DescService,
    method: string,
    request: unknown,
  ): Promise<Answer> {
    const definition = (
      serviceDefinition(service) as Readonly<
        Record<string, ReturnType<typeof serviceDefinition<typeof RolloutService>>["getRollout"]>
      >
    )[method];
    if (definition === undefined) throw new Error(`No method ${method}`);
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        definition.path,
        definition.requestSerialize,
        definition.responseDeserialize,
        request as never,
        (error, answer) => {
          if (error === null) resolve(answer as Answer);
          else reject(error);
        },
      );
    });
  }

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-rollout-")));
    save("a.yaml", manifest({ name: "a", domain: "alpha" }));
  });

  afterEach(async () => {
    pod?.close();
    pod = undefined;
    for (const client of clients.splice(0)) client.close();
    await controlPlane.lifecycle.stop();
    certificates?.remove();
    certificates = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it("answers curl with JSON", async () => {
    await start();
    const connected = connectPod();
    await connected.response(1);
    connected.accept();
    let answer: { rollout?: Record<string, unknown> } = {};
    await until("the acceptance", async () => {
      answer = (await (await post("{}")).json()) as typeof answer;
      return JSON.stringify(answer).includes("POD_STATE_ACCEPTED");
    });
    expect(answer.rollout).toMatchObject({
      replica: expect.stringMatching(/./) as unknown,
      instance: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown,
      ready: true,
      source: { location: folder },
      fleets: [{ name: "*", version: connected.last.versionInfo, resources: 1, pods: { total: 1, accepted: 1 } }],
      resources: [
        {
          namespace: "default",
          name: "a",
          domain: "alpha",
          state: "RESOURCE_STATE_SERVED",
          pods: { total: 1, accepted: 1 },
          location: `${join(folder, "a.yaml")}:1`,
        },
      ],
      pods: [
        {
          nodeId: "gateway/pod-7",
          fleet: "gateway",
          state: "POD_STATE_ACCEPTED",
          accepted: { version: connected.last.versionInfo },
        },
      ],
    });
  });

  it.each([
    {
      what: "text that is no JSON",
      body: "{bad",
      status: 400,
      code: "invalid_argument",
      message: /^cannot decode message weir\.rollout\.v1\.GetRolloutRequest from JSON/,
    },
    {
      what: "a body that is too large",
      body: `"${"x".repeat(70_000)}"`,
      status: 429,
      code: "resource_exhausted",
      message: /larger than configured readMaxBytes 65536$/,
    },
    { what: "a wrong field", body: '{"filter":{"fleet":7}}', status: 400, code: "invalid_argument", message: /fleet/ },
    {
      what: "a filter that is not known",
      body: '{"filter":{"nme":"a"}}',
      status: 400,
      code: "invalid_argument",
      message: /"nme"/,
    },
    {
      what: "a method that is not there",
      body: "{}",
      path: "/weir.rollout.v1.RolloutService/SetRollout",
      status: 404,
      code: "unimplemented",
      message: /^no such method: /,
    },
    {
      what: "a type that is not spoken",
      body: "{}",
      headers: { "content-type": "text/plain" },
      status: 415,
      code: "unknown",
      message: /^POST a message to this path with the header content-type: application\/json/,
    },
    {
      what: "plain JSON for a method that streams",
      body: "{}",
      path: "/weir.rollout.v1.RolloutService/WatchRollout",
      status: 415,
      code: "unknown",
      message: /^this method streams: .* application\/connect\+json, .*; methods that do not stream take plain JSON$/,
    },
  ])("says what is wrong with $what", async ({ body, path, headers, status, code, message }) => {
    await start();
    const answer = await post(body, path, headers);
    expect([answer.status, await answer.json()]).toEqual([
      status,
      { code, message: expect.stringMatching(message) as unknown },
    ]);
  });

  it("explains how to ask to a browser", async () => {
    await start();
    const answer = await fetch(`${httpUrl()}${GET}`);
    expect([answer.status, await answer.json()]).toMatchObject([
      405,
      { message: expect.stringMatching(/^POST a message to this path/) as unknown },
    ]);
  });

  it.each([
    {
      protocol: "Connect with JSON",
      transport: (): Transport =>
        createConnectTransport({ baseUrl: httpUrl(), httpVersion: "1.1", useBinaryFormat: false }),
    },
    {
      protocol: "Connect",
      transport: (): Transport => createConnectTransport({ baseUrl: httpUrl(), httpVersion: "1.1" }),
    },
    {
      protocol: "gRPC-web",
      transport: (): Transport => createGrpcWebTransport({ baseUrl: httpUrl(), httpVersion: "1.1" }),
    },
  ])("answers, watches and ends watches over $protocol", async ({ transport }) => {
    await start();
    const client = createClient(RolloutService, transport());
    const { rollout } = await client.getRollout({ filter: { namespace: "default", name: "a" } });
    expect(rollout?.resources.map(({ domain }) => domain)).toEqual(["alpha"]);
    expect((await client.getRollout({ filter: { name: "other" } })).rollout?.resources).toEqual([]);

    const domains: string[][] = [];
    let end: unknown;
    const watched = (async () => {
      for await (const { rollout: now } of client.watchRollout({}))
        domains.push(now?.resources.map(({ domain }) => domain) ?? []);
    })().catch((error: unknown) => {
      end = error;
    });
    await until("the first state", () => domains.length > 0);
    save("b.yaml", manifest({ name: "b", domain: "beta" }));
    await until("the change", () => domains.at(-1)?.length === 2);
    // Once more: a single change might have been found by chance, with something else that
    // happened.
    save("c.yaml", manifest({ name: "c", domain: "gamma" }));
    await until("the next change", () => domains.at(-1)?.length === 3);
    expect([domains[0], domains.at(-1)]).toEqual([["alpha"], ["alpha", "beta", "gamma"]]);
    const stopped = controlPlane.lifecycle.stop();
    await watched;
    await stopped;
    expect(end).toMatchObject({
      code: Code.Unavailable,
      rawMessage: "Cannot watch the rollout: the control plane is shutting down, connect again",
    });
  });

  it("says that it shuts down, on /readyz, on the page and to watchers", async () => {
    await start();
    const client = createClient(RolloutService, createConnectTransport({ baseUrl: httpUrl(), httpVersion: "1.1" }));
    const ready: boolean[] = [];
    const watched = (async () => {
      for await (const { rollout } of client.watchRollout({})) ready.push(rollout?.ready ?? false);
    })().catch(() => undefined);
    await until("the first state", () => ready.length > 0);
    const before = await fetch(`${httpUrl()}/readyz`);
    expect([before.status, await before.text()]).toEqual([200, expect.stringMatching(/^ready\n\* [0-9a-f]{32}\n$/)]);
    controlPlane.drain(0);
    await until("the change", () => ready.at(-1) === false);
    const after = await fetch(`${httpUrl()}/readyz`);
    expect([after.status, await after.text()]).toEqual([503, "not ready: it is shutting down\n"]);
    await controlPlane.lifecycle.stop();
    await watched;
  });

  it("forgets a watcher that has gone", async () => {
    await start();
    const client = createClient(RolloutService, createConnectTransport({ baseUrl: httpUrl(), httpVersion: "1.1" }));
    const gone = new AbortController();
    let states = 0;
    const watched = (async () => {
      for await (const _state of client.watchRollout({}, { signal: gone.signal })) states += 1;
    })().catch(() => undefined);
    await until("the first state", () => states > 0);
    const watchers = async (): Promise<string> =>
      /^weir_rollout_watchers (\d+)$/m.exec(await (await fetch(`${httpUrl()}/metrics`)).text())?.[1] ?? "";
    expect(await watchers()).toBe("1");
    gone.abort();
    await watched;
    await until("the end", async () => (await watchers()) === "0");
  });

  it("answers and watches over gRPC on the port of the pods, and ends watches when it stops", async () => {
    await start();
    const client = grpcClient();
    const { rollout } = await unary<GetRolloutResponse>(
      client,
      RolloutService,
      "getRollout",
      create(GetRolloutRequestSchema),
    );
    expect(rollout?.resources.map(({ domain }) => domain)).toEqual(["alpha"]);

    const { path, requestSerialize, responseDeserialize } = serviceDefinition(RolloutService).watchRollout;
    const states: Rollout[] = [];
    let end: StatusObject | undefined;
    const call = client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      create(WatchRolloutRequestSchema),
    );
    call.on("data", (response: WatchRolloutResponse) =>
      states.push(...(response.rollout === undefined ? [] : [response.rollout])),
    );
    call.on("status", (status: StatusObject) => (end = status));
    call.on("error", () => undefined);
    await until("the first state", () => states.length > 0);
    const connected = connectPod();
    await connected.response(1);
    connected.accept();
    await until("the acceptance", () => states.at(-1)?.pods[0]?.state === PodState.ACCEPTED);
    connected.close();
    await until("the end of the pod", () => states.at(-1)?.pods.length === 0);
    await controlPlane.lifecycle.stop();
    await until("the end", () => end !== undefined);
    expect(end).toMatchObject({
      code: 14,
      details: "Cannot watch the rollout: the control plane is shutting down, connect again",
    });
  });

  it("lets in over mutual TLS the clients that it lets in as pods, and no other", async () => {
    const { issueClient } = await startWithTls();
    const get = async (identity?: TestIdentity) =>
      unary<GetRolloutResponse>(grpcClient(identity), RolloutService, "getRollout", create(GetRolloutRequestSchema));
    expect((await get(await issueClient(["operator"]))).rollout?.ready).toBe(true);
    await expect(get(await issueClient(["stranger"]))).rejects.toMatchObject({
      code: 7,
      details: "no name in the client certificate is allowed here, its names are: stranger",
    });
    await expect(get()).rejects.toMatchObject({ code: 14 });
    const metrics = await (await fetch(`${httpUrl()}/metrics`)).text();
    expect(metrics).toMatch(/^weir_ads_refusals_total\{reason="name-not-allowed"\} 1$/m);
    expect(metrics).toMatch(/^weir_ads_refusals_total\{reason="no-tls"\} [1-9]/m);
  });
});
