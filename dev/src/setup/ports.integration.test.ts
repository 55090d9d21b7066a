import type { Server } from "node:net";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { claimPorts } from "./ports.ts";
import type { StackPorts } from "../settings.ts";

const ANY: StackPorts = {
  ads: 0,
  controlPlaneHttp: 0,
  controlPlaneConsole: 0,
  rateLimitGrpc: 0,
  rateLimitHttp: 0,
  rateLimitDebug: 0,
  rateLimitMetrics: 0,
  accountHttp: 0,
  accountMetrics: 0,
};

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

describe("claimPorts()", () => {
  it("replaces every 0 by a free port of its own", async () => {
    const ports = Object.values<number>({ ...(await claimPorts(ANY)) });
    expect(new Set(ports).size).toBe(9);
    expect(Math.min(...ports)).toBeGreaterThan(0);
  });

  it("keeps the ports that were asked for when they are free", async () => {
    const port = await reservePort();
    expect((await claimPorts({ ...ANY, accountHttp: port })).accountHttp).toBe(port);
  });

  it("names every taken port, its use and the setting that moves it", async () => {
    const [one, other] = [await occupy(), await occupy()];
    await expect(claimPorts({ ...ANY, rateLimitHttp: one, rateLimitMetrics: other })).rejects.toMatchObject({
      code: "STACK_PORT_IN_USE",
      message: [
        "Cannot start the stack, nothing was started:",
        `  port ${one} for rate limit HTTP is in use; PORT moves it`,
        `  port ${other} for rate limit metrics is in use; PULLSTATS_ADDR moves it`,
        `For example: PORT=${one > 65000 ? one - 100 : one + 100} make run`,
      ].join("\n"),
    });
  });

  it("names both uses when one port is given twice", async () => {
    await expect(claimPorts({ ...ANY, rateLimitHttp: 8080, accountHttp: 8080 })).rejects.toMatchObject({
      code: "STACK_PORT_IN_USE",
      message: [
        "Cannot start the stack, nothing was started:",
        "  port 8080 for account HTTP is given to rate limit HTTP (PORT) as well; ACCOUNT_PORT moves it",
        "For example: ACCOUNT_PORT=8180 make run",
      ].join("\n"),
    });
  });
});

function occupy(): Promise<number> {
  const server = createServer();
  servers.push(server);
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
}
