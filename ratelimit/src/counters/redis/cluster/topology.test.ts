// Replies to CLUSTER SLOTS and CLUSTER SHARDS: those of real servers, those of servers that do not
// know their name, and garbage.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseShardsReply, parseSlotsReply, type SlotRange } from "./topology.ts";

/** Longest time of a fuzzer on a busy machine, in milliseconds. */
const FUZZ_TIMEOUT_MS = 60_000;

const CONTEXT = { askedHost: "asked.example", isTls: false };

/** The answer of redis-server 7.0 to CLUSTER SLOTS, shortened to two primaries of which the first has a replica. */
const SLOTS_REPLY = [
  [0, 5460, ["127.0.0.1", 30_001, "c84a71e9", []], ["127.0.0.1", 30_004, "11b0f7ba", []]],
  [5461, 16_383, ["127.0.0.1", 30_002, "9c5da021", ["hostname", "redis-1.example"]]],
];

function shard(slots: readonly unknown[], ...nodes: readonly unknown[]): unknown {
  return ["slots", slots, "nodes", nodes];
}

function node(port: number, fields: Readonly<Record<string, unknown>> = {}): unknown {
  const all = {
    id: "c84a71e9",
    port,
    ip: "127.0.0.1",
    endpoint: "127.0.0.1",
    role: "master",
    "replication-offset": 0,
    health: "online",
  };
  return Object.entries({ ...all, ...fields }).flat();
}

function at(first: number, last: number, host: string, port: number): SlotRange {
  return { first, last, endpoint: { host, port } };
}

describe("parseSlotsReply()", () => {
  it("parseSlotsReply() finds the primary of each range when replicas and metadata are there, too", () => {
    expect(parseSlotsReply(SLOTS_REPLY, CONTEXT)).toEqual([
      at(0, 5460, "127.0.0.1", 30_001),
      at(5461, 16_383, "127.0.0.1", 30_002),
    ]);
  });

  it("parseSlotsReply() finds several ranges of a node and leaves holes", () => {
    const reply = [
      [0, 0, ["a", 1]],
      [2, 9, ["a", 1]],
    ];
    expect(parseSlotsReply(reply, CONTEXT)).toEqual([at(0, 0, "a", 1), at(2, 9, "a", 1)]);
    expect(parseSlotsReply([], CONTEXT)).toEqual([]);
  });

  it.each([
    { how: "an empty host", primary: ["", 7000, "id"], host: "asked.example" },
    { how: "no host", primary: [null, 7000, "id", ["ip", "10.0.0.1"]], host: "asked.example" },
    { how: "a host name", primary: ["redis-0.redis", 7000, "id", ["ip", "10.0.0.1"]], host: "redis-0.redis" },
    { how: "an address of version 6", primary: ["2001:db8::1", 7000, "id"], host: "2001:db8::1" },
    { how: "a host name not known yet", primary: ["?", 7000, "id", ["ip", "10.0.0.1"]], host: "10.0.0.1" },
  ])("parseSlotsReply() finds $host when the node announces $how", ({ primary, host }) => {
    expect(parseSlotsReply([[0, 16_383, primary]], CONTEXT)).toEqual([at(0, 16_383, host, 7000)]);
  });

  it.each([
    { how: "not a list", reply: "OK" },
    { how: "a list of texts", reply: ["a"] },
    { how: "a slot beyond the last", reply: [[0, 16_384, ["a", 1]]] },
    { how: "a range that ends before it begins", reply: [[5, 4, ["a", 1]]] },
    { how: "slots as texts", reply: [["0", "5", ["a", 1]]] },
    { how: "no node", reply: [[0, 5]] },
    { how: "more ranges than slots", reply: Array.from({ length: 16_385 }, () => [0, 0, ["a", 1]]) },
  ])("parseSlotsReply() refuses $how", ({ reply }) => {
    expect(parseSlotsReply(reply, CONTEXT)).toBeUndefined();
  });

  it.each([
    ["a b", 1],
    ["a", 0],
    ["a", 65_536],
    ["a", "x"],
    [5, 1],
    ["?", 1],
  ])("parseSlotsReply() leaves a hole where the node is at %j, %j", (host, port) => {
    const reply = [
      [0, 5, [host, port]],
      [6, 7, ["b", 2]],
    ];
    expect(parseSlotsReply(reply, CONTEXT)).toEqual([at(6, 7, "b", 2)]);
  });
});

describe("parseShardsReply()", () => {
  it("parseShardsReply() finds the primary of each range", () => {
    const reply = [
      shard([0, 5, 100, 200], node(2, { role: "replica" }), node(1)),
      shard([6, 99], node(3, { endpoint: "redis-1.example", hostname: "redis-1.example" })),
      shard([], node(4)),
    ];
    expect(parseShardsReply(reply, CONTEXT)).toEqual([
      at(0, 5, "127.0.0.1", 1),
      at(100, 200, "127.0.0.1", 1),
      at(6, 99, "redis-1.example", 3),
    ]);
  });

  it("parseShardsReply() prefers a primary that has not failed, and takes a failed one when there is no other", () => {
    const failed = node(1, { health: "failed" });
    expect(parseShardsReply([shard([0, 5], failed, node(2))], CONTEXT)).toEqual([at(0, 5, "127.0.0.1", 2)]);
    expect(parseShardsReply([shard([0, 5], failed)], CONTEXT)).toEqual([at(0, 5, "127.0.0.1", 1)]);
  });

  it("parseShardsReply() takes the port of TLS only when asked over TLS", () => {
    const reply = [shard([0, 5], node(1, { "tls-port": 2 }))];
    expect(parseShardsReply(reply, { ...CONTEXT, isTls: true })).toEqual([at(0, 5, "127.0.0.1", 2)]);
    expect(parseShardsReply(reply, CONTEXT)).toEqual([at(0, 5, "127.0.0.1", 1)]);
  });

  it.each([
    { how: "no endpoint", fields: { endpoint: null }, host: "asked.example" },
    { how: "an empty endpoint", fields: { endpoint: "" }, host: "asked.example" },
    { how: "a name not known yet", fields: { endpoint: "?", ip: "10.0.0.1" }, host: "10.0.0.1" },
  ])("parseShardsReply() finds $host when the node announces $how", ({ fields, host }) => {
    expect(parseShardsReply([shard([0, 5], node(1, fields))], CONTEXT)).toEqual([at(0, 5, host, 1)]);
  });

  it.each([
    { how: "not a list", reply: 5 },
    { how: "a shard without slots", reply: [["nodes", []]] },
    { how: "half a range", reply: [shard([0, 5, 6], node(1))] },
    { how: "a slot beyond the last", reply: [shard([0, 99_999], node(1))] },
  ])("parseShardsReply() refuses $how", ({ reply }) => {
    expect(parseShardsReply(reply, CONTEXT)).toBeUndefined();
  });
});

describe("garbage from a server", () => {
  const scalar = fc.oneof(
    fc.constantFrom(
      null,
      undefined,
      0,
      5460,
      16_383,
      16_384,
      -1,
      1.5,
      Number.NaN,
      Infinity,
      "",
      "?",
      "slots",
      "nodes",
      "master",
      "ip",
      "port",
      "endpoint",
    ),
    fc.string({ unit: "binary" }),
    fc.integer(),
    fc.constant(new Error("MOVED 1 a:1")),
  );
  const { reply } = fc.letrec((tie) => ({
    reply: fc.oneof({ depthSize: "medium", maxDepth: 5 }, scalar, fc.array(tie("reply"), { maxLength: 8 })),
  }));
  /** Replies that begin rightly and have something wrong somewhere. */
  const nearly = fc.array(
    fc.oneof(
      reply,
      fc.tuple(
        fc.oneof(fc.nat(20_000), scalar),
        fc.oneof(fc.nat(20_000), scalar),
        fc.oneof(reply, fc.tuple(scalar, fc.nat(70_000), scalar, reply)),
      ),
      fc.tuple(
        fc.constant("slots"),
        fc.array(fc.oneof(fc.nat(20_000), scalar)),
        fc.constant("nodes"),
        fc.array(fc.array(scalar)),
      ),
    ),
    { maxLength: 6 },
  );

  it.each([
    { name: "parseSlotsReply", parse: parseSlotsReply },
    { name: "parseShardsReply", parse: parseShardsReply },
  ])(
    "$name() gives only ranges that are true to their kind when replies are garbage",
    ({ parse }) => {
      fc.assert(
        fc.property(fc.oneof(reply, nearly), (value) =>
          (parse(value, CONTEXT) ?? []).every(
            ({ first, last, endpoint: { host, port } }) =>
              first >= 0 &&
              first <= last &&
              last < 16_384 &&
              /^[\w.:%-]{1,255}$/.test(host) &&
              port > 0 &&
              port < 65_536,
          ),
        ),
        { numRuns: 20_000, seed: 7000 },
      );
    },
    FUZZ_TIMEOUT_MS,
  );
});
