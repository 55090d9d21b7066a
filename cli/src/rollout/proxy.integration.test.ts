// Tests of `weir rollout` through the proxies that the environment names: what they see, who is
// trusted behind them, and what is told when they refuse.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Authority, createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { FakeControlPlane, rolloutOf, type Run, run } from "./rollout.suite.ts";

const NOW = new Date();

/** A proxy that knows one server under any name, and keeps what it is asked. */
class TestProxy {
  /** Method, target and authorization of each request. */
  readonly asked: (readonly (string | undefined)[])[] = [];
  /** The answer to CONNECT; undefined lets through. */
  refusal: string | undefined;
  readonly #server: Server;
  readonly #sockets: Socket[] = [];

  constructor(port: number) {
    this.#server = createServer((request, response) => {
      this.asked.push([request.method, request.url, request.headers["proxy-authorization"]]);
      response.writeHead(502).end();
    }).on("connect", ({ url, headers }, client: Socket) => {
      this.asked.push(["CONNECT", url, headers["proxy-authorization"]]);
      if (this.refusal !== undefined) {
        client.end(this.refusal);
        return;
      }
      const server = connect(port, "127.0.0.1", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
      this.#sockets.push(client, server);
      for (const socket of [client, server]) socket.on("error", () => undefined); // Both ends are cut when a test ends.
      server.pipe(client).pipe(server);
    });
  }

  async start(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let authority: Authority;
let folder: string;
let server: FakeControlPlane;
let serverUrl: string;
let proxy: TestProxy;
let proxyUrl: string;

beforeAll(async () => {
  authority = await createAuthority({ commonName: "Rollout authority", now: NOW, validDays: 2 });
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-rollout-proxy-"));
  writeFileSync(join(folder, "ca.pem"), authority.certPem);
  const { certPem, keyPem } = await authority.issue({
    commonName: "control-plane",
    dnsNames: ["cp.example"],
    usage: "server",
    now: NOW,
    validDays: 1,
  });
  server = new FakeControlPlane(rolloutOf("cp-0", { "gateway-1": 1 }), { tls: { cert: certPem, key: keyPem } });
  serverUrl = await server.start();
  proxy = new TestProxy(Number(new URL(serverUrl).port));
  proxyUrl = await proxy.start();
});

afterEach(async () => {
  await proxy.stop();
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Asks a server whose name only the proxy knows. */
function ask(name: string, env: Readonly<Record<string, string>>, ...more: readonly string[]): Run {
  return run(["-s", `https://${name}:8443`, "--ca-file", join(folder, "ca.pem"), ...more], { env });
}

describe("weir rollout through a proxy", () => {
  it("has the proxy of HTTPS_PROXY connect it, and speaks TLS with the server", async () => {
    const { ended, output } = ask("cp.example", { HTTPS_PROXY: proxyUrl.replace("//", "//user:secret@") });
    expect(await ended).toBe(0);
    expect(output.stdout).toContain("ACKed by the only pod");
    expect(proxy.asked).toEqual([
      ["CONNECT", "cp.example:8443", `Basic ${Buffer.from("user:secret").toString("base64")}`],
    ]);
    expect(server.headers.map(({ host }) => host)).toEqual(["cp.example:8443"]);
    // The credentials for the proxy are not for the server.
    expect(server.headers[0]?.["proxy-authorization"]).toBeUndefined();
  });

  it("watches through it", async () => {
    const { ended, output, abort } = ask("cp.example", { https_proxy: proxyUrl }, "--watch");
    await eventually("the first state", () => expect(output.stdout).toContain("ACKed by the only pod"));
    server.change(rolloutOf("cp-0", { "gateway-1": 1, "gateway-2": 1 }));
    await eventually("the second state", () => expect(output.stdout).toContain("ACKed by all 2 pods"));
    abort.abort();
    expect(await ended).toBe(0);
  });

  it("trusts the server behind it no more than without it", async () => {
    const { ended, output } = ask("other.example", { HTTPS_PROXY: proxyUrl });
    expect(await ended).toBe(2);
    expect(output.stderr).toContain(
      `Cannot reach https://other.example:8443 through the proxy ${proxyUrl}: its certificate is for DNS:cp.example, which --server-name can name (`,
    );
    expect(server.headers).toEqual([]);
  });

  it("asks without it what NO_PROXY names", async () => {
    const resolve = (): Promise<readonly string[]> => Promise.resolve(["127.0.0.2", "127.0.0.3"]);
    const { ended } = run(["-s", "http://cp.example:1"], {
      env: { HTTP_PROXY: proxyUrl, NO_PROXY: ".example,other" },
      resolve,
    });
    expect(await ended).toBe(2);
    expect(proxy.asked).toEqual([]);
  });

  it("asks for http:// through the proxy of HTTP_PROXY", async () => {
    const { ended, output } = run(["-s", "http://cp.example:8090"], { env: { HTTP_PROXY: proxyUrl } });
    expect(await ended).toBe(2);
    expect(output.stderr).toContain(`Cannot reach http://cp.example:8090 through the proxy ${proxyUrl}: `);
    expect(proxy.asked).toEqual([
      ["POST", "http://cp.example:8090/weir.rollout.v1.RolloutService/GetRollout", undefined],
    ]);
  });

  it.each([
    {
      refusal: "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
      reason: "the proxy requires authentication, its URL can contain user and password (",
    },
    { refusal: "HTTP/1.1 403 Forbidden\r\n\r\n", reason: "the proxy does not connect to it (" },
  ])("says so when it answers $refusal", async ({ refusal, reason }) => {
    proxy.refusal = refusal;
    const { ended, output } = ask("cp.example", { HTTPS_PROXY: proxyUrl.replace("//", "//user:secret@") });
    expect(await ended).toBe(2);
    expect(output.stderr).toContain(`Cannot reach https://cp.example:8443 through the proxy ${proxyUrl}: ${reason}`);
    expect(output.stderr).not.toContain("secret");
  });

  it("says what helps when the certificate of a proxy with https:// is not trusted, for which the flags are not", async () => {
    const { ended, output } = ask("cp.example", { HTTPS_PROXY: serverUrl });
    expect(await ended).toBe(2);
    expect(output.stderr).toContain(
      `Cannot reach https://cp.example:8443 through the proxy ${serverUrl}: its certificate is not from a trusted authority`,
    );
    expect(output.stderr).toContain(
      "; where the certificate is the proxy's, NODE_EXTRA_CA_CERTS can name its authority\n",
    );
  });

  it("says so when nothing listens there, or its answer makes no sense", async () => {
    const gone = ask("cp.example", { HTTPS_PROXY: "127.0.0.1:1" });
    expect(await gone.ended).toBe(2);
    expect(gone.output.stderr).toContain(
      "Cannot reach https://cp.example:8443 through the proxy http://127.0.0.1:1: connection refused (",
    );
    const strange = ask("cp.example", { HTTPS_PROXY: "socks5://user:secret@127.0.0.1:1" });
    expect(await strange.ended).toBe(2);
    expect(strange.output.stderr).toBe(
      "weir rollout: HTTPS_PROXY must be a URL with http:// or https://, has socks5://\n",
    );
  });
});
