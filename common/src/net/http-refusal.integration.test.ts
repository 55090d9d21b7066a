// Refusals over real sockets: the answer arrives, and the connection ends whatever the client does.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";

import { describe, expect, it } from "vitest";

import { endWithRefusal } from "./http-refusal.ts";

const REFUSAL = { status: 400, message: "no" } as const;

describe("endWithRefusal()", () => {
  it("endWithRefusal() closes the connection of a client that has its answer and never closes", async () => {
    const server = createServer();
    server.on("clientError", (_error, socket) =>
      endWithRefusal(socket, REFUSAL, { type: "text/plain", body: "no\n" }, 100),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
    client.on("error", () => undefined); // How the connection ends is not the client's choice.
    let answer = "";
    client.setEncoding("utf8").on("data", (text: string) => (answer += text));
    client.write("garbage\r\n\r\n");
    await once(client, "end");
    expect(answer).toBe(
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nno\n",
    );
    server.close();
    await expect
      .poll(() => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))), {
        timeout: 40_000,
      })
      .toBe(0);
    client.destroy();
  });
});
