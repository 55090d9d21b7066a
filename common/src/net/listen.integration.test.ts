// Real listeners: a free port, and one that is taken.
import { once } from "node:events";
import { createServer, type Server } from "node:net";

import { afterEach, describe, expect, it } from "vitest";

import { listen } from "./listen.ts";

const servers: Server[] = [];

function newServer(): Server {
  const server = createServer();
  servers.push(server);
  return server;
}

afterEach(async () => {
  const closed = servers.splice(0).map(async (server) => {
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  });
  await Promise.all(closed);
});

describe("listen()", () => {
  it("listen() gives the real port when it asked for any", async () => {
    const server = newServer();
    const { host, port } = await listen(server, { host: "127.0.0.1", port: 0, setting: "PORT", what: "HTTP" });
    expect(host).toBe("127.0.0.1");
    expect(server.address()).toMatchObject({ port });
    expect(port).toBeGreaterThan(0);
  });

  it("listen() names the port and the setting when the port is taken", async () => {
    const { port } = await listen(newServer(), { host: "127.0.0.1", port: 0, setting: "PORT", what: "HTTP" });
    const second = listen(newServer(), { host: "127.0.0.1", port, setting: "GRPC_PORT", what: "gRPC" });
    await expect(second).rejects.toMatchObject({
      code: "LISTEN_FAILED",
      message: `Cannot listen for gRPC on 127.0.0.1:${port}: the port is in use; set GRPC_PORT to another one`,
    });
  });

  it("listen() says that the address is not here when the host is elsewhere", async () => {
    const elsewhere = listen(newServer(), { host: "192.0.2.1", port: 0, setting: "PORT", what: "HTTP" });
    await expect(elsewhere).rejects.toThrow(
      "Cannot listen for HTTP on 192.0.2.1:0: no network interface of this machine has that address",
    );
  });
});
