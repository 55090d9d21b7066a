// Tests of api-client.ts with a fake server, for answers that a healthy one does not give.
import { once } from "node:events";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { gzipSync } from "node:zlib";

import { createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ApiClient, type WatchEnd } from "./api-client.ts";
import type { ClusterAccess } from "../access/cluster-access.ts";
import type { ApiFailure } from "./api-failure.ts";
import { type FakeApiServer, type FakeCall, startFakeApiServer } from "./fake-api-server.suite.ts";
import type { ObjectPage, WatchEvent } from "./kubernetes-object.ts";
import type { SlowRequest } from "./slow-timer.ts";

function kindOf(end: WatchEnd | ApiFailure): string {
  return typeof end === "string" ? end : end.kind;
}

/**
 * How long a server may say nothing in tests in which it does, in milliseconds; in all others it
 * may be as slow as the machine of the test.
 */
const SILENCE_MS = 1000;

/** Time after which a request is reported as slow, in milliseconds. */
const SLOW_MS = 500;

const RESOURCE = {
  group: "ratelimit.weir.dev",
  version: "v1alpha1",
  plural: "ratelimitconfigs",
  namespace: "team",
  labelSelector: undefined,
};
const OBJECT = { metadata: { name: "a", namespace: "team", uid: "1", resourceVersion: "7" } };
const READ = { name: "a", namespace: "team", uid: "1", resourceVersion: "7", generation: undefined, content: OBJECT };
const EMPTY_LIST = { metadata: { resourceVersion: "5" }, items: [] };

describe("ApiClient", () => {
  let server: FakeApiServer;
  let client: ApiClient;
  let stop: AbortController;
  /** The requests that were reported as slow: at which server, and what they wait for. */
  const slowRequests: (readonly [string | undefined, string])[] = [];

  beforeEach(async () => {
    server = await startFakeApiServer();
    stop = new AbortController();
    slowRequests.length = 0;
    client = openClient(60_000, 60_000);
  });

  function openClient(
    answerTimeoutMs: number,
    silenceTimeoutMs: number,
    access: ClusterAccess = server.access,
  ): ApiClient {
    const slow = (_request: unknown, { server: at, waitsFor }: SlowRequest): void =>
      void slowRequests.push([at, waitsFor]);
    const timeouts = { answerTimeoutMs, silenceTimeoutMs, slowAfterMs: SLOW_MS };
    return new ApiClient(access, timeouts, { userAgent: "test", slow });
  }

  function useShortTimeouts(): void {
    client = openClient(SILENCE_MS, SILENCE_MS);
  }

  afterEach(async () => {
    stop.abort();
    await client.close();
    await server.close();
  });

  function list(): Promise<ObjectPage> {
    return client.list({ verb: "list", resource: RESOURCE }, { limit: 10, continueToken: "c" }, stop.signal);
  }

  async function listAnswered(...answer: Parameters<FakeCall["answer"]>): Promise<ObjectPage> {
    const page = list();
    page.catch(() => undefined); // Looked at below.
    (await server.next()).answer(...answer);
    return await page;
  }

  /** A watch that has begun, with the calls of its listener. */
  async function watch(): Promise<{
    call: FakeCall;
    received: (WatchEvent["kind"] | "opened")[];
    ended: Promise<WatchEnd | ApiFailure>;
  }> {
    const received: (WatchEvent["kind"] | "opened")[] = [];
    const listener = { opened: () => received.push("opened"), event: (event: WatchEvent) => received.push(event.kind) };
    const watching = client.watch(
      { verb: "watch", resource: RESOURCE },
      { resourceVersion: "5", timeoutSeconds: 300 },
      listener,
      stop.signal,
    );
    const ended = watching.catch((error: unknown) => error as ApiFailure);
    return { call: await server.next(), received, ended };
  }

  it("list() requests one page, compressed or not, and reads it", async () => {
    const page = list();
    const call = await server.next();
    expect([call.path, [...call.query], call.headers["accept-encoding"]]).toEqual([
      "/apis/ratelimit.weir.dev/v1alpha1/namespaces/team/ratelimitconfigs",
      [
        ["limit", "10"],
        ["continue", "c"],
      ],
      "gzip",
    ]);
    const body = JSON.stringify({ metadata: { resourceVersion: "5", continue: "d" }, items: [OBJECT] });
    call.answer(200, gzipSync(body), { "content-encoding": "gzip" });
    expect(await page).toEqual({ objects: [READ], resourceVersion: "5", continueToken: "d" });
    expect(await listAnswered(200, { metadata: { resourceVersion: "6" }, items: null })).toEqual({
      objects: [],
      resourceVersion: "6",
      continueToken: "",
    });
  });

  it("list() gives an object the type of the list when it has none, as a watch does", async () => {
    const own = { apiVersion: "v1", kind: "Secret", ...OBJECT };
    const list = { apiVersion: "v1", kind: "SecretList", ...EMPTY_LIST };
    const { objects } = await listAnswered(200, { ...list, items: [OBJECT, { ...own, kind: "Other" }] });
    expect(objects.map(({ content }) => content)).toEqual([own, { ...own, kind: "Other" }]);
  });

  it("list() requests everything in one call when there is no limit", async () => {
    const page = client.list({ verb: "list", resource: RESOURCE }, { limit: 0, continueToken: "" }, stop.signal);
    const call = await server.next();
    expect([...call.query]).toEqual([]);
    call.answer(200, EMPTY_LIST);
    expect(await page).toEqual({ objects: [], resourceVersion: "5", continueToken: "" });
  });

  it.each([
    { what: "text", body: "<html>login</html>" },
    { what: "half of a list", body: '{"metadata":{"resourceVersion":"5"},"items":[' },
    { what: "no version", body: { items: [] } },
    { what: "an object without a name", body: { ...EMPTY_LIST, items: [{ metadata: {} }] } },
    { what: "items that are no list", body: { ...EMPTY_LIST, items: "none" } },
  ])("list() fails as broken when the answer is $what", async ({ body }) => {
    await expect(listAnswered(200, body)).rejects.toMatchObject({
      kind: "broken",
      message: "Cannot list ratelimitconfigs.ratelimit.weir.dev in namespace team: the answer is not a list of objects",
    });
  });

  it("list() fails when a decompressed answer is too large, without reading it all", async () => {
    const packed = gzipSync(Buffer.alloc(17 * 1024 * 1024, " "));
    await expect(listAnswered(200, packed, { "content-encoding": "gzip" })).rejects.toMatchObject({
      kind: "too-large",
    });
  });

  it("list() closes the connection of an answer that it does not read to the end", async () => {
    const page = list();
    const call = await server.next();
    call.open({ "content-encoding": "gzip" });
    // Its end is missing.
    call.send(gzipSync(Buffer.alloc(17 * 1024 * 1024, " ")).subarray(0, -8));
    await expect(page).rejects.toMatchObject({ kind: "too-large" });
    await call.closed;
  });

  it("list() fails when the compression is damaged", async () => {
    await expect(listAnswered(200, "not gzip", { "content-encoding": "gzip" })).rejects.toMatchObject({
      kind: "unreachable",
    });
  });

  it("list() waits as long as a busy server asks", async () => {
    const status = { kind: "Status", code: 429, message: "too many requests", details: { retryAfterSeconds: 1 } };
    await expect(listAnswered(429, status, { "retry-after": "4" })).rejects.toMatchObject({
      kind: "unavailable",
      retryAfterMs: 4000,
    });
    await expect(listAnswered(503, "busy", { "retry-after": "later" })).rejects.toMatchObject({
      kind: "unavailable",
      retryAfterMs: 0,
    });
  });

  it("list() renews the credentials when these are not accepted", async () => {
    await expect(listAnswered(401, { message: "Unauthorized" })).rejects.toMatchObject({ kind: "unauthorized" });
    expect(server.access.renewals).toBe(1);
    await expect(listAnswered(403, { message: "no" })).rejects.toMatchObject({ kind: "forbidden" });
    expect(server.access.renewals).toBe(1);
  });

  it("list() fails when the server does not answer", async () => {
    useShortTimeouts();
    await expect(list()).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining("nothing was received for 1 s") as string,
    });
  });

  it("list() reports that it is slow until the whole answer is there, once", async () => {
    const page = list();
    const call = await server.next();
    call.open();
    const waitsFor = "the answer to list ratelimitconfigs.ratelimit.weir.dev in namespace team";
    await eventually("the report", () => expect(slowRequests).toEqual([[server.url, waitsFor]]));
    call.send(JSON.stringify(EMPTY_LIST));
    call.end();
    await page;
    expect(slowRequests.length).toBe(1);
  });

  it("list() reports that it waits for credentials", async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const forRequest = async (): ReturnType<ClusterAccess["forRequest"]> => {
      await promise;
      return await server.access.forRequest();
    };
    client = openClient(60_000, 60_000, { renew: () => undefined, forRequest });
    const page = list();
    await eventually("the report", () => expect(slowRequests).toEqual([[undefined, "credentials"]]));
    resolve(undefined);
    (await server.next()).answer(200, EMPTY_LIST);
    await page;
  });

  it("watch() reports that it is slow until the answer begins, and not while it is open and quiet", async () => {
    const { call, received, ended } = await watch();
    const waitsFor = "the answer to watch ratelimitconfigs.ratelimit.weir.dev in namespace team";
    await eventually("the report", () => expect(slowRequests).toEqual([[server.url, waitsFor]]));
    call.open();
    await eventually("the watch to be open", () => expect(received).toEqual(["opened"]));
    const quiet = await watch();
    quiet.call.open();
    await eventually("the watch to be open", () => expect(quiet.received).toEqual(["opened"]));
    // A later request is reported, so the quiet watch would have been.
    void list().catch(() => undefined);
    await eventually("the next report", () => expect(slowRequests.length).toBe(2));
    expect(slowRequests[1]?.[1]).toContain("the answer to list");
    stop.abort();
    await Promise.all([ended, quiet.ended]);
  });

  it("watch() fails when the rest of an error answer is not received in the time for answers", async () => {
    client = openClient(SILENCE_MS, 60_000);
    const { call, ended } = await watch();
    call.open({}, 503);
    call.send('{"message":');
    expect(await ended).toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining(
        "the rest of the answer with HTTP status 503 was not received within 1 s",
      ) as string,
    });
    await call.closed;
  });

  it("list() fails when the server stops in the middle", async () => {
    useShortTimeouts();
    const page = list();
    page.catch(() => undefined);
    const call = await server.next();
    call.open();
    call.send('{"metadata":');
    await expect(page).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining("nothing was received") as string,
    });
  });

  it("list() reports why there are no credentials", async () => {
    const access = { ...server.access, forRequest: () => Promise.reject(new Error("ENOENT: token")) };
    const broken = openClient(300, 300, access);
    await expect(
      broken.list({ verb: "list", resource: RESOURCE }, { limit: 1, continueToken: "" }, stop.signal),
    ).rejects.toMatchObject({
      kind: "unreachable",
      message:
        "Cannot list ratelimitconfigs.ratelimit.weir.dev in namespace team: there are no credentials: ENOENT: token",
    });
    await broken.close();
  });

  it("list() only fails when a certificate cannot be used", async () => {
    const access = {
      renew: () => undefined,
      forRequest: () =>
        Promise.resolve({
          server: "https://127.0.0.1:1",
          headers: {},
          tls: { ca: undefined, cert: "not PEM", key: "not PEM" },
          proxyUrl: undefined,
        }),
    };
    const broken = openClient(300, 300, access);
    const failing = broken.list({ verb: "list", resource: RESOURCE }, { limit: 1, continueToken: "" }, stop.signal);
    await expect(failing).rejects.toMatchObject({ kind: "unreachable" });
    await broken.close();
  });

  it("list() fails when a proxy does not answer", async () => {
    const proxyUrl = server.url;
    const access = {
      renew: () => undefined,
      forRequest: () => Promise.resolve({ server: "https://10.0.0.1", headers: {}, tls: { ca: undefined }, proxyUrl }),
    };
    const proxied = openClient(SILENCE_MS, SILENCE_MS, access);
    server.holdTunnels();
    const failing = proxied.list({ verb: "list", resource: RESOURCE }, { limit: 1, continueToken: "" }, stop.signal);
    await expect(failing).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining("no answer from https://10.0.0.1: nothing was received for 1 s") as string,
    });
    await proxied.close();
  });

  /** A SOCKS proxy: version 5 without authentication, then the connection to the requested port (RFC 1928). */
  async function startSocksProxy(): Promise<{ readonly url: string; close(): void }> {
    const proxy = createServer((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([5, 0]));
        socket.once("data", (request: Buffer) => {
          const target = connect(request.readUInt16BE(request.length - 2), "127.0.0.1", () => {
            socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]));
            socket.pipe(target).pipe(socket);
          });
        });
      });
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    return { url: `socks5://127.0.0.1:${(proxy.address() as AddressInfo).port}`, close: () => proxy.close() };
  }

  it.each(["127.0.0.1", "localhost"])(
    "list() reaches an API server with TLS at %s through a SOCKS5 proxy",
    async (host) => {
      const day = { now: new Date(), validDays: 1 };
      const authority = await createAuthority({ commonName: "cluster", ...day });
      const identity = await authority.issue({
        commonName: "api",
        dnsNames: ["localhost"],
        ipAddresses: ["127.0.0.1"],
        usage: "server",
        ...day,
      });
      const secure = createSecureServer({ cert: identity.certPem, key: identity.keyPem }, (_request, response) =>
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(EMPTY_LIST)),
      ).listen(0, "127.0.0.1");
      await once(secure, "listening");
      const proxy = await startSocksProxy();
      const access = {
        renew: () => undefined,
        forRequest: () =>
          Promise.resolve({
            server: `https://${host}:${(secure.address() as AddressInfo).port}`,
            headers: {},
            tls: { ca: authority.certPem },
            proxyUrl: proxy.url,
          }),
      };
      client = openClient(60_000, 60_000, access);
      expect(await list()).toMatchObject({ resourceVersion: "5" });
      proxy.close();
      secure.close();
    },
  );

  it("list() goes through a SOCKS5 proxy", async () => {
    const proxy = await startSocksProxy();
    const proxyUrl = proxy.url;
    const forRequest = async (): ReturnType<ClusterAccess["forRequest"]> => ({
      ...(await server.access.forRequest()),
      proxyUrl,
    });
    client = openClient(60_000, 60_000, { renew: () => undefined, forRequest });
    expect(await listAnswered(200, EMPTY_LIST)).toMatchObject({ resourceVersion: "5" });
    proxy.close();
  });

  it("uses one connection for lists and watches that follow each other", async () => {
    const first = list();
    const listed = await server.next();
    listed.answer(200, EMPTY_LIST);
    await first;
    const { call, ended } = await watch();
    call.open();
    call.end();
    expect(await ended).toBe("ended");
    const again = await watch();
    expect([call.fromPort, again.call.fromPort]).toEqual([listed.fromPort, listed.fromPort]);
  });

  it("watch() requests bookmarks from a version on, and passes lines on as they become complete", async () => {
    const { call, received, ended } = await watch();
    expect([...call.query]).toEqual([
      ["watch", "1"],
      ["allowWatchBookmarks", "true"],
      ["resourceVersion", "5"],
      ["timeoutSeconds", "300"],
    ]);
    call.open();
    const line = JSON.stringify({ type: "ADDED", object: OBJECT });
    call.send(line.slice(0, 20));
    call.send(`${line.slice(20)}\n${JSON.stringify({ type: "DELETED", object: OBJECT })}\n`);
    call.send(`${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })}\n`);
    call.end();
    expect([await ended, received]).toEqual(["ended", ["opened", "put", "delete", "bookmark"]]);
  });

  it("watch() puts a character together that was cut in the middle", async () => {
    const { call, ended } = await watch();
    call.open();
    const line = Buffer.from(`${JSON.stringify({ type: "ERROR", object: { code: 500, message: "é€" } })}\n`);
    for (const byte of line) {
      call.send(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended).toMatchObject({ reason: 'the server says "é€"' });
  });

  it.each([
    { what: "no JSON", line: "}{", kind: "broken" },
    { what: "an unknown type", line: '{"type":"RENAMED","object":{}}', kind: "broken" },
    {
      what: "an object without uid",
      line: '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}',
      kind: "broken",
    },
    { what: "a bookmark without version", line: '{"type":"BOOKMARK","object":{"metadata":{}}}', kind: "broken" },
    {
      what: "410",
      line: '{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old","reason":"Expired"}}',
      kind: "expired",
    },
    {
      what: "500",
      line: '{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd"}}',
      kind: "unavailable",
    },
    { what: "an empty error", line: '{"type":"ERROR","object":null}', kind: "unavailable" },
  ])("watch() fails as $kind when a line is $what, after the events before it", async ({ line, kind }) => {
    const { call, received, ended } = await watch();
    call.open();
    call.send(`${JSON.stringify({ type: "MODIFIED", object: OBJECT })}\n${line}\n`);
    expect([kindOf(await ended), received]).toEqual([kind, ["opened", "put"]]);
  });

  it("watch() fails when a line does not end", async () => {
    const { call, ended } = await watch();
    call.open();
    for (let megabytes = 0; megabytes < 9; megabytes += 1) call.send(Buffer.alloc(1024 * 1024, "x"));
    expect(await ended).toMatchObject({
      kind: "broken",
      message: expect.stringContaining("an event has more than 8388608 bytes") as string,
    });
  });

  it("watch() fails when the connection is cut in the middle of a line, without using that", async () => {
    const { call, received, ended } = await watch();
    call.open();
    call.send('{"type":"ADDED","obj');
    setTimeout(() => call.cut(), 50);
    expect([kindOf(await ended), received]).toEqual(["unreachable", ["opened"]]);
  });

  it("watch() ends when nothing is received for too long, lasts as long as something is, and drops that connection", async () => {
    // Much longer than the pauses below, because this process may be paused too.
    const silenceMs = 7000;
    client = openClient(60_000, silenceMs);
    const { call, received, ended } = await watch();
    call.open();
    const startedMs = performance.now();
    let sent = 0;
    for (; performance.now() - startedMs < 1.2 * silenceMs; sent += 1) {
      call.send(`${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: String(sent) } } })}\n`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect([await ended, received.length]).toEqual(["silent", 1 + sent]);
    const again = await watch();
    expect(again.call.fromPort).not.toBe(call.fromPort);
  });

  it.each([
    { status: 410, body: { code: 410, reason: "Expired" }, kind: "expired" },
    { status: 403, body: "", kind: "forbidden" },
    { status: 404, body: "404 page not found", kind: "refused" },
    { status: 500, body: Buffer.alloc(200_000, "x"), kind: "unavailable" },
    { status: 302, body: "", kind: "refused" },
  ])("watch() fails as $kind when it is answered with $status", async ({ status, body, kind }) => {
    const { call, received, ended } = await watch();
    call.answer(status, body);
    expect([kindOf(await ended), received]).toEqual([kind, []]);
  });

  it("ends requests in flight when the signal aborts", async () => {
    const { call, ended } = await watch();
    call.open();
    stop.abort();
    expect(await ended).toMatchObject({ kind: "unreachable" });
  });
});
