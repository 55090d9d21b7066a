import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { createLog } from "../log/log.ts";
import { ConnectionBudget, readDescriptorLimit } from "./connection-limit.ts";

/** A server as Node has it: looks at maxConnections before it takes a connection. */
class FakeServer extends EventEmitter {
  maxConnections = Infinity;
  listening = true;
  readonly open: EventEmitter[] = [];

  connect(remoteAddress = "203.0.113.7"): "taken" | "dropped" {
    if (this.open.length >= this.maxConnections) {
      this.emit("drop", {});
      return "dropped";
    }
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroy: () => this.close(socket) });
    this.open.push(socket);
    this.emit("connection", socket);
    return this.open.includes(socket) ? "taken" : "dropped";
  }

  close(socket: EventEmitter): void {
    this.open.splice(this.open.indexOf(socket), 1);
    socket.emit("close");
  }

  closeOne(): void {
    this.open.pop()?.emit("close");
  }
}

function createFixture(descriptors: number | undefined): {
  budget: ConnectionBudget;
  lines: Record<string, unknown>[];
  add: (what: string, max?: number, isFair?: boolean) => FakeServer;
  clock: { nowMs: number };
} {
  const clock = { nowMs: 0 };
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
  const budget = new ConnectionBudget(descriptors, () => clock.nowMs);
  const add = (what: string, max?: number, isFair = false): FakeServer => {
    const server = new FakeServer();
    budget.limit(server as unknown as Server, { what, isFair, ...(max !== undefined && { max }) }, log);
    return server;
  };
  return { budget, lines, add, clock };
}

function connectMany(server: FakeServer, count: number): number {
  return Array.from({ length: count }, () => server.connect()).filter((result) => result === "taken").length;
}

describe("ConnectionBudget", () => {
  it.each([
    { descriptors: 256, taken: 192 }, // 64 are reserved.
    { descriptors: 1024, taken: 896 }, // An eighth.
    { descriptors: 20_000, taken: 19_488 }, // 512 at most.
    { descriptors: 10, taken: 1 }, // Hopeless, but not silent.
  ])("limit() takes $taken connections when there are $descriptors descriptors", ({ descriptors, taken }) => {
    const { add } = createFixture(descriptors);
    expect(connectMany(add("gRPC"), 20_000)).toBe(taken);
  });

  it("limit() closes the newest connection of the network with the most for one of another, when it is to be fair", () => {
    const { add, lines } = createFixture(undefined);
    const server = add("HTTP", 4, true);
    const attack = Array.from({ length: 6 }, (_, host) => server.connect(`203.0.113.${host}`));
    expect(attack).toEqual(["taken", "taken", "taken", "taken", "dropped", "dropped"]);
    expect([server.connect("198.51.100.1"), server.connect("2001:db8::1")]).toEqual(["taken", "taken"]);
    const addresses = server.open.map((socket) => (socket as EventEmitter & { remoteAddress: string }).remoteAddress);
    expect(addresses).toEqual(["203.0.113.0", "203.0.113.1", "198.51.100.1", "2001:db8::1"]);
    // Another one would leave its network as many as the largest has.
    expect([server.connect("2001:db8:0:1::1"), server.connect("203.0.113.9")]).toEqual(["dropped", "dropped"]);
    expect(lines).toHaveLength(1);
  });

  it("limit() shares the connections between the listeners, and reuses those that close", () => {
    const { add } = createFixture(256);
    const [grpc, http] = [add("gRPC"), add("HTTP", 100)]; // 192 together, of which 24 are reserved for each.
    expect([connectMany(http, 200), connectMany(grpc, 200)]).toEqual([100, 92]);
    http.closeOne();
    expect([grpc.connect(), http.connect()]).toEqual(["taken", "dropped"]);
    grpc.closeOne();
    expect([http.connect(), grpc.connect()]).toEqual(["taken", "dropped"]);
  });

  it("limit() reserves an eighth for each listener", () => {
    const { add } = createFixture(256);
    const [grpc, http, debug] = [add("gRPC"), add("HTTP"), add("debug", 10)];
    expect(connectMany(http, 200)).toBe(192 - 24 - 10);
    expect([connectMany(grpc, 200), connectMany(debug, 200)]).toEqual([24, 10]);
    http.closeOne();
    expect([grpc.connect(), http.connect()]).toEqual(["taken", "dropped"]);
  });

  it("limit() reserves nothing for a listener that has closed", () => {
    const { add } = createFixture(256);
    const [grpc, http] = [add("gRPC"), add("HTTP")];
    http.emit("close");
    expect(connectMany(grpc, 200)).toBe(192);
  });

  it("limit() applies only the listener's own maximum when the process has no limit", () => {
    const { add } = createFixture(undefined);
    expect([connectMany(add("debug", 256), 1000), connectMany(add("gRPC"), 1000)]).toEqual([256, 1000]);
  });

  it("limit() logs the first refusal immediately and the others together a minute later", () => {
    const { add, lines, clock } = createFixture(256);
    const server = add("gRPC");
    connectMany(server, 300);
    clock.nowMs = 59_999;
    server.connect();
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "Refused connections, open ones are served",
        to: "gRPC",
        reason:
          "256 file descriptors allow no more connections here, besides those of other listeners; raise the limit (ulimit -n)",
      },
    ]);
    clock.nowMs = 60_000;
    server.connect();
    expect(lines[1]).toMatchObject({ repeats: 108 });
    expect(lines).toHaveLength(2);
  });

  it("limit() names the listener's own maximum when that is what refuses", () => {
    const { add, lines } = createFixture(1000);
    connectMany(add("debug", 2), 3);
    expect(lines).toMatchObject([{ to: "debug", reason: "2 connections are the maximum of this listener" }]);
  });

  it("limit() logs a connection that cannot be accepted, and no error from before it listens", () => {
    const { add, lines } = createFixture(1000);
    const server = add("gRPC");
    server.listening = false;
    server.emit("error", new Error("listen EADDRINUSE"));
    expect(lines).toEqual([]);
    server.listening = true;
    server.emit("error", new Error("accept EMFILE"));
    expect(lines).toMatchObject([{ "@message": "Cannot accept a connection", to: "gRPC", error: "accept EMFILE" }]);
  });
});

describe("readDescriptorLimit()", () => {
  const folder = mkdtempSync(join(tmpdir(), "weir-limits-"));
  const file = join(folder, "limits");

  it.each([
    [
      "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 524288               files\n",
      1024,
    ],
    ["Max open files            unlimited            unlimited            files\n", undefined],
    ["nothing", undefined],
  ])("readDescriptorLimit() of %j is %s", (text, limit) => {
    writeFileSync(file, text);
    expect(readDescriptorLimit(file)).toBe(limit);
  });

  it("readDescriptorLimit() is undefined when there is no such file", () => {
    rmSync(folder, { recursive: true });
    expect(readDescriptorLimit(file)).toBeUndefined();
  });
});
