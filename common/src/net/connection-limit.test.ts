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

  connect(): "taken" | "dropped" {
    if (this.open.length >= this.maxConnections) {
      this.emit("drop", {});
      return "dropped";
    }
    const socket = new EventEmitter();
    this.open.push(socket);
    this.emit("connection", socket);
    return "taken";
  }

  closeOne(): void {
    this.open.pop()?.emit("close");
  }
}

function world(descriptors: number | undefined): {
  budget: ConnectionBudget;
  lines: Record<string, unknown>[];
  add: (what: string, max?: number) => FakeServer;
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
  const add = (what: string, max?: number): FakeServer => {
    const server = new FakeServer();
    budget.limit(server as unknown as Server, { what, ...(max !== undefined && { max }) }, log);
    return server;
  };
  return { budget, lines, add, clock };
}

function connectMany(server: FakeServer, count: number): number {
  return Array.from({ length: count }, () => server.connect()).filter((result) => result === "taken").length;
}

describe("ConnectionBudget", () => {
  it.each([
    { descriptors: 256, taken: 192 }, // 64 are kept.
    { descriptors: 1024, taken: 896 }, // An eighth.
    { descriptors: 20_000, taken: 19_488 }, // 512 at most.
    { descriptors: 10, taken: 1 }, // Hopeless, but not silent.
  ])("limit() takes $taken connections when there are $descriptors descriptors", ({ descriptors, taken }) => {
    const { add } = world(descriptors);
    expect(connectMany(add("gRPC"), 20_000)).toBe(taken);
  });

  it("limit() shares what there is between the listeners, and takes again what closes", () => {
    const { add } = world(256);
    const [grpc, http] = [add("gRPC"), add("HTTP", 100)]; // 192 together, of which 24 are kept for each.
    expect([connectMany(http, 200), connectMany(grpc, 200)]).toEqual([100, 92]);
    http.closeOne();
    expect([grpc.connect(), http.connect()]).toEqual(["taken", "dropped"]);
    grpc.closeOne();
    expect([http.connect(), grpc.connect()]).toEqual(["taken", "dropped"]);
  });

  it("limit() keeps an eighth for each listener, which no other can take", () => {
    const { add } = world(256);
    const [grpc, http, debug] = [add("gRPC"), add("HTTP"), add("debug", 10)];
    expect(connectMany(http, 200)).toBe(192 - 24 - 10);
    expect([connectMany(grpc, 200), connectMany(debug, 200)]).toEqual([24, 10]);
    http.closeOne();
    expect([grpc.connect(), http.connect()]).toEqual(["taken", "dropped"]);
  });

  it("limit() keeps nothing for a listener that has closed", () => {
    const { add } = world(256);
    const [grpc, http] = [add("gRPC"), add("HTTP")];
    http.emit("close");
    expect(connectMany(grpc, 200)).toBe(192);
  });

  it("limit() knows only the listener's own maximum when the process has no limit", () => {
    const { add } = world(undefined);
    expect([connectMany(add("debug", 256), 1000), connectMany(add("gRPC"), 1000)]).toEqual([256, 1000]);
  });

  it("limit() tells the first refusal at once and the others together a minute later", () => {
    const { add, lines, clock } = world(256);
    const server = add("gRPC");
    connectMany(server, 300);
    clock.nowMs = 59_999;
    server.connect();
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "connections are refused, those that are open are served",
        to: "gRPC",
        reason:
          "all are taken that 256 file descriptors leave room for here, beside those of other listeners; raise the limit (ulimit -n)",
        refused: 1,
      },
    ]);
    clock.nowMs = 60_000;
    server.connect();
    expect(lines[1]).toMatchObject({ refused: 109 });
    expect(lines).toHaveLength(2);
  });

  it("limit() names the listener's own maximum when that is what refuses", () => {
    const { add, lines } = world(1000);
    connectMany(add("debug", 2), 3);
    expect(lines).toMatchObject([{ to: "debug", reason: "2 are the most that this listener takes" }]);
  });

  it("limit() logs a connection that cannot be accepted, and leaves errors before listening to others", () => {
    const { add, lines } = world(1000);
    const server = add("gRPC");
    server.listening = false;
    server.emit("error", new Error("listen EADDRINUSE"));
    expect(lines).toEqual([]);
    server.listening = true;
    server.emit("error", new Error("accept EMFILE"));
    expect(lines).toMatchObject([
      { "@message": "a connection could not be accepted", to: "gRPC", error: "accept EMFILE" },
    ]);
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
