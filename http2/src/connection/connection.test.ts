// Tests of a connection over bytes: its beginning, its end, and the rules of RFC 9113 for frames.
import {
  FLAG,
  FRAME,
  frame,
  grpcMessage,
  lastData,
  literalBlock,
  openCall,
  PREFACE,
  resetFrame,
  settingsFrame,
  uint32,
  wholeCall,
  windowUpdate,
} from "@weir/harness/http2/http2-frames";
import { describe, expect, it } from "vitest";

import { BYTES } from "../grpc/test-service.suite.ts";
import { ByteClient } from "./byte-client.suite.ts";
import { summarize } from "./received-frames.suite.ts";

const OK = (streamId: number, bytes: number) => [
  `HEADERS ${streamId} 200`,
  `DATA ${streamId} ${bytes + 5}`,
  `HEADERS ${streamId} end grpc-status 0`,
];

describe("the beginning", () => {
  it("is SETTINGS, a larger window, and an acknowledgement", () => {
    const client = new ByteClient();
    const frames = client.send(PREFACE, settingsFrame());
    expect(summarize(frames)).toEqual(["SETTINGS", "WINDOW_UPDATE 0 983041", "SETTINGS ack"]);
    expect(frames[0]?.payload).toEqual(Buffer.from([0, 3, 0, 0, 3, 0xe8, 0, 6, 0, 0, 0x40, 0]));
  });

  it("may come byte by byte", () => {
    const client = new ByteClient();
    for (const byte of Buffer.concat([PREFACE, settingsFrame(), wholeCall(1, "Later", "slow")]))
      client.send(Buffer.from([byte]));
    expect(client.service.requests).toEqual(["slow"]);
  });

  it("is refused in words when it is HTTP/1", () => {
    const client = new ByteClient();
    client.connection.receive(Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n"));
    const text = Buffer.concat(client.sink.written).toString();
    expect(text).toMatch(
      /^HTTP\/1\.1 505 HTTP Version Not Supported\r\n(.+\r\n)+\r\nThis port speaks HTTP\/2 \(gRPC\)/,
    );
    expect(client.sink).toMatchObject({ state: "ended", preface: "http1" });
    expect(client.counters.http1Refused).toBe(1);
  });

  it("ends the connection when it is something else", () => {
    const client = new ByteClient();
    const frames = client.send(Buffer.from([0x16, 3, 1, 2, 0, 1, 0]));
    expect(summarize(frames)).toEqual(["GOAWAY 0 1 This port speaks HTTP/2 (gRPC)"]);
    expect(client.sink).toMatchObject({ state: "ended", preface: "foreign" });
    expect(client.counters.foreignPreface).toBe(1);
  });

  it.each([
    ["a request", openCall(1, "Echo")],
    ["an acknowledgement", frame(FRAME.SETTINGS, FLAG.ACK, 0)],
    ["a PING", frame(FRAME.PING, 0, 0, Buffer.alloc(8))],
  ])("must be SETTINGS, not %s", (_, first) => {
    const frames = new ByteClient().send(PREFACE, first);
    expect(summarize(frames).at(-1)).toBe("GOAWAY 0 1 The first frame is not SETTINGS");
  });
});

describe("control frames", () => {
  it("are answered: PING and SETTINGS with their acknowledgements", () => {
    const ping = frame(FRAME.PING, 0, 0, Buffer.from("12345678"));
    const frames = new ByteClient().open().send(ping, settingsFrame([77, 1]));
    expect(summarize(frames)).toEqual(["PING ack", "SETTINGS ack"]);
    expect(frames[0]?.payload.toString()).toBe("12345678");
  });

  it("lead to a smaller table of the encoder, which announces it first", () => {
    const client = new ByteClient().open();
    expect(summarize(client.send(wholeCall(1, "Echo")))).toEqual(OK(1, 5));
    client.send(settingsFrame([1, 0]));
    const [headers] = client.send(wholeCall(3, "Echo"));
    expect(headers?.payload[0]).toBe(0x20);
    expect(headers?.fields).toEqual({ ":status": "200", "content-type": "application/grpc" });
  });

  it.each<[string, Buffer, number]>([
    ["PING on a stream", frame(FRAME.PING, 0, 1, Buffer.alloc(8)), 1],
    ["PING of seven bytes", frame(FRAME.PING, 0, 0, Buffer.alloc(7)), 6],
    ["SETTINGS on a stream", frame(FRAME.SETTINGS, 0, 1), 1],
    ["SETTINGS of seven bytes", frame(FRAME.SETTINGS, 0, 0, Buffer.alloc(7)), 6],
    ["an acknowledgement of SETTINGS with content", frame(FRAME.SETTINGS, FLAG.ACK, 0, Buffer.alloc(6)), 6],
    ["ENABLE_PUSH of 2", settingsFrame([2, 2]), 1],
    ["INITIAL_WINDOW_SIZE of 2^31", settingsFrame([4, 0x8000_0000]), 3],
    ["MAX_FRAME_SIZE of 2^14-1", settingsFrame([5, 16_383]), 1],
    ["MAX_FRAME_SIZE of 2^24", settingsFrame([5, 16_777_216]), 1],
    ["GOAWAY on a stream", frame(FRAME.GOAWAY, 0, 1, Buffer.alloc(8)), 1],
    ["GOAWAY of seven bytes", frame(FRAME.GOAWAY, 0, 0, Buffer.alloc(7)), 6],
    ["PUSH_PROMISE", frame(FRAME.PUSH_PROMISE, FLAG.END_HEADERS, 1, Buffer.alloc(4)), 1],
    ["PRIORITY on stream 0", frame(FRAME.PRIORITY, 0, 0, Buffer.alloc(5)), 1],
    ["PRIORITY of four bytes", frame(FRAME.PRIORITY, 0, 1, Buffer.alloc(4)), 6],
    ["PRIORITY that depends on itself", frame(FRAME.PRIORITY, 0, 1, Buffer.from([0, 0, 0, 1, 0])), 1],
    ["RST_STREAM on stream 0", resetFrame(0), 1],
    ["RST_STREAM on an idle stream", resetFrame(1), 1],
    ["RST_STREAM of three bytes", frame(FRAME.RST_STREAM, 0, 1, Buffer.alloc(3)), 6],
    ["WINDOW_UPDATE of 0", windowUpdate(0, 0), 1],
    ["WINDOW_UPDATE above 2^31-1", windowUpdate(0x7fff_ffff, 0), 3],
    ["WINDOW_UPDATE on an idle stream", windowUpdate(1, 1), 1],
    ["WINDOW_UPDATE of three bytes", frame(FRAME.WINDOW_UPDATE, 0, 0, Buffer.alloc(3)), 6],
    ["DATA on stream 0", lastData(0, grpcMessage("a")), 1],
    ["DATA on an idle stream", lastData(1, grpcMessage("a")), 1],
    [
      "DATA with too much padding",
      Buffer.concat([openCall(1, "Echo"), frame(FRAME.DATA, FLAG.PADDED, 1, Buffer.from([1]))]),
      1,
    ],
    ["HEADERS on stream 0", openCall(0, "Echo"), 1],
    ["HEADERS on an even stream", openCall(2, "Echo"), 1],
    [
      "HEADERS that depend on themselves",
      frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.PRIORITY, 1, Buffer.from([0, 0, 0, 1, 0])),
      1,
    ],
    [
      "HEADERS too short for their priority",
      frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.PRIORITY, 1, Buffer.alloc(4)),
      6,
    ],
    ["an undefined index", frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, Buffer.from([0xff, 0x50])), 9],
    ["CONTINUATION without HEADERS", frame(FRAME.CONTINUATION, FLAG.END_HEADERS, 1), 1],
    [
      "CONTINUATION of another stream",
      Buffer.concat([frame(FRAME.HEADERS, 0, 1), frame(FRAME.CONTINUATION, FLAG.END_HEADERS, 3)]),
      1,
    ],
    ["a frame within a header block", Buffer.concat([frame(FRAME.HEADERS, 0, 1), settingsFrame()]), 1],
    ["a frame of 16,385 bytes", frame(FRAME.DATA, 0, 1, Buffer.alloc(16_385)), 6],
  ])("end the connection: %s", (_, fault, code) => {
    const client = new ByteClient().open();
    expect(client.send(fault).at(-1)).toMatchObject({ type: "GOAWAY", code });
    expect(client.sink.state).toBe("ended");
    expect(client.counters.connectionErrors).toBe(1);
    expect(client.send(wholeCall(1, "Later"))).toEqual([]);
    expect(client.service.requests).toEqual([]);
    client.wait(2000);
    expect(client.sink.state).toBe("destroyed");
  });
});

describe("a closed stream", () => {
  it.each<[string, readonly Buffer[], string]>([
    [
      "DATA after both have ended it",
      [wholeCall(1, "Echo"), lastData(1, grpcMessage("a"))],
      "GOAWAY 1 5 Stream 1 has ended",
    ],
    ["HEADERS after both have ended it", [wholeCall(1, "Echo"), openCall(1, "Echo")], "GOAWAY 1 5 Stream 1 has ended"],
    ["DATA after the client has ended it", [wholeCall(1, "Later"), lastData(1, grpcMessage("a"))], "RST_STREAM 1 5"],
    ["HEADERS after the client has ended it", [wholeCall(1, "Later"), openCall(1, "Later")], "RST_STREAM 1 5"],
    [
      "DATA after the client has reset it",
      [openCall(1, "Later"), resetFrame(1), lastData(1, grpcMessage("a"))],
      "RST_STREAM 1 5",
    ],
    [
      "HEADERS after the client has reset it",
      [openCall(1, "Later"), resetFrame(1), openCall(1, "Later")],
      "RST_STREAM 1 5",
    ],
    [
      "HEADERS of a stream that was left out",
      [wholeCall(5, "Later"), openCall(3, "Later")],
      "GOAWAY 5 1 Stream 3 was left out",
    ],
  ])("answers %s", (_, parts, expected) => {
    expect(summarize(new ByteClient().open().send(...parts)).at(-1)).toBe(expected);
  });

  it.each<[string, Buffer]>([
    ["DATA", lastData(1, grpcMessage("a"))],
    ["HEADERS", openCall(1, "Echo")],
    ["WINDOW_UPDATE", windowUpdate(1, 1)],
    ["RST_STREAM", resetFrame(1)],
  ])("ignores %s after the server has reset it", (_, late) => {
    const client = new ByteClient().open();
    expect(summarize(client.send(openCall(1, "Echo", { Upper: "case" })))).toEqual(["RST_STREAM 1 1"]);
    expect(client.send(late)).toEqual([]);
    expect(client.sink.state).toBe("open");
  });
});

describe("flow control", () => {
  it("holds back what the window of a stream does not allow", () => {
    const client = new ByteClient().open([4, 3]);
    expect(summarize(client.send(wholeCall(1, "Echo")))).toEqual(["HEADERS 1 200", "DATA 1 3"]);
    expect(summarize(client.send(windowUpdate(4, 1)))).toEqual(["DATA 1 4"]);
    expect(summarize(client.send(windowUpdate(4, 1)))).toEqual(["DATA 1 3", "HEADERS 1 end grpc-status 0"]);
    expect(client.budget.usedBytes).toBe(0);
  });

  it("holds back what the window of the connection does not allow", () => {
    const client = new ByteClient().open([4, 1_000_000]);
    const part = (last: boolean) => frame(FRAME.DATA, last ? FLAG.END_STREAM : 0, 1, Buffer.alloc(15_000));
    const prefix = frame(FRAME.DATA, 0, 1, Buffer.from([0, ...uint32(75_000)]));
    const frames = client.send(
      openCall(1, "Echo"),
      prefix,
      part(false),
      part(false),
      part(false),
      part(false),
      part(true),
    );
    const sent = frames.filter(({ type }) => type === "DATA").reduce((sum, { payload }) => sum + payload.length, 0);
    expect(sent).toBe(65_535);
    expect(summarize(client.send(wholeCall(3, "Echo")))).toEqual(["HEADERS 3 200"]);
    const rest = client.send(windowUpdate(100_000, 0));
    expect(summarize(rest)).toEqual([
      "DATA 1 9470",
      "HEADERS 1 end grpc-status 0",
      "DATA 3 10",
      "HEADERS 3 end grpc-status 0",
    ]);
  });

  it("sends each answer whole and in order while others wait for the window of the connection", () => {
    const client = new ByteClient().open([4, 100_000]);
    const sizes = [40_000, 40_000, 5, 300, 0, 2000];
    const ids = sizes.map((_, index) => 2 * index + 1);
    client.send(...ids.map((id) => wholeCall(id, "Later")));
    const frames = sizes.flatMap((size, index) => {
      client.service.waiting[index]?.reply(BYTES, Buffer.alloc(size, String(index)));
      return [...client.turn(), ...client.send(windowUpdate(4, 0))];
    });
    for (let widened = 0; widened < 20_000; widened += 1000) frames.push(...client.send(windowUpdate(1000, 0)));
    for (const [index, id] of ids.entries()) {
      const own = frames.filter(({ streamId }) => streamId === id);
      expect(own.map(({ type }) => type).join(" ")).toMatch(/^HEADERS (DATA )+HEADERS$/);
      const body = Buffer.concat(own.filter(({ type }) => type === "DATA").map(({ payload }) => payload));
      expect(body).toEqual(grpcMessage(Buffer.alloc(sizes[index] ?? 0, String(index))));
    }
  });

  it("makes windows negative when the client lowers the initial window", () => {
    const client = new ByteClient().open([4, 8]);
    client.send(wholeCall(1, "Echo"));
    expect(summarize(client.send(settingsFrame([4, 0])))).toEqual(["SETTINGS ack"]);
    expect(client.send(windowUpdate(8, 1))).toEqual([]);
    expect(summarize(client.send(windowUpdate(1, 1)))).toEqual(["DATA 1 1"]);
    expect(summarize(client.send(settingsFrame([4, 1])))).toEqual([
      "SETTINGS ack",
      "DATA 1 1",
      "HEADERS 1 end grpc-status 0",
    ]);
  });

  it("ends the connection when the initial window makes one exceed 2^31-1", () => {
    const client = new ByteClient().open();
    const frames = client.send(openCall(1, "Later"), windowUpdate(1000, 1), settingsFrame([4, 0x7fff_ffff]));
    expect(frames.at(-1)).toMatchObject({ type: "GOAWAY", code: 3 });
  });

  it("lets the client send long messages: the windows are widened", () => {
    const client = new ByteClient().open();
    const part = frame(FRAME.DATA, 0, 1, Buffer.alloc(15_000));
    const prefix = frame(FRAME.DATA, 0, 1, Buffer.from([0, ...uint32(1_500_000)]));
    const updates = client.send(openCall(1, "Later"), prefix, ...Array.from({ length: 99 }, () => part));
    expect(summarize(updates).filter((line) => line.startsWith("WINDOW_UPDATE 0"))).toHaveLength(2);
    expect(summarize(updates).filter((line) => line.startsWith("WINDOW_UPDATE 1"))).toHaveLength(33);
    client.send(lastData(1, Buffer.alloc(15_000)));
    expect(client.service.requests[0]).toHaveLength(1_500_000);
  });

  it("sends long answers in frames of at most 16,384 bytes", () => {
    const client = new ByteClient().open([4, 1_000_000]);
    client.send(windowUpdate(1_000_000, 0), wholeCall(1, "Later"));
    client.service.waiting[0]?.reply(BYTES, Buffer.alloc(40_000, "x"));
    const frames = client.turn().filter(({ type }) => type === "DATA");
    expect(Math.max(...frames.map(({ payload }) => payload.length))).toBeLessThanOrEqual(16_384);
    expect(Buffer.concat(frames.map(({ payload }) => payload))).toEqual(grpcMessage(Buffer.alloc(40_000, "x")));
  });
});

describe("a graceful close", () => {
  it("takes calls that are on their way, and ends when all are answered", () => {
    const client = new ByteClient().open();
    client.send(wholeCall(1, "Later"));
    client.connection.drain();
    const [goaway, ping] = client.turn();
    expect(summarize([goaway, ping].filter((sent) => sent !== undefined))).toEqual(["GOAWAY 2147483647 0", "PING"]);
    client.send(wholeCall(3, "Later"));
    expect(summarize(client.send(frame(FRAME.PING, FLAG.ACK, 0, ping?.payload)))).toEqual(["GOAWAY 3 0"]);
    expect(client.send(wholeCall(5, "Later"))).toEqual([]);
    expect(client.service.requests).toHaveLength(2);
    for (const call of client.service.waiting) call.reply(BYTES, Buffer.from("done"));
    expect(client.sink.state).toBe("open");
    expect(summarize(client.turn())).toEqual([...OK(1, 4), ...OK(3, 4)]);
    expect(client.sink.state).toBe("ended");
  });

  it("of a client that does not acknowledge the PING continues after a second", () => {
    const client = new ByteClient().open();
    client.connection.drain();
    client.turn();
    expect(summarize(client.wait(1000))).toEqual(["GOAWAY 0 0"]);
    expect(client.sink.state).toBe("ended");
  });

  it("ends when the client resets its last call", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Later"));
    client.connection.drain();
    client.wait(1000);
    expect(client.sink.state).toBe("open");
    client.send(resetFrame(1));
    expect(client.sink.state).toBe("ended");
  });

  it("does not wait for the end of a request that is answered", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Nope"));
    expect(client.connection.openStreams).toBe(1);
    client.connection.drain();
    client.wait(1000);
    expect(client.sink.state).toBe("ended");
  });

  it("before the preface ends the connection", () => {
    const client = new ByteClient();
    client.connection.drain();
    expect(client.sink.state).toBe("ended");
  });

  it("never announces a later call than before, also when the client makes a mistake", () => {
    const client = new ByteClient().open();
    client.send(wholeCall(1, "Later"));
    client.connection.drain();
    expect(summarize(client.wait(1000)).at(-1)).toBe("GOAWAY 1 0");
    client.send(wholeCall(3, "Later"));
    expect(client.send(frame(FRAME.PING, 0, 1, Buffer.alloc(8)))).toMatchObject([
      { type: "GOAWAY", code: 1, payload: Buffer.concat([uint32(1), uint32(1), Buffer.from("PING on stream 1")]) },
    ]);
  });

  it("counts calls that come after it", () => {
    const client = new ByteClient({ controlFramesMax: 100 }).open();
    client.send(wholeCall(1, "Later"));
    client.connection.drain();
    client.wait(1000);
    const frames = client.send(...Array.from({ length: 101 }, (_, index) => openCall(3 + 2 * index, "Later")));
    expect(summarize(frames)).toEqual(["GOAWAY 1 11 Too many control frames"]);
  });

  it("waits until the client has taken the last answers", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000 }).open();
    client.send(wholeCall(1, "Later"));
    client.connection.drain();
    client.wait(1000);
    client.sink.isFast = false;
    client.service.waiting[0]?.reply(BYTES, Buffer.from("done"));
    client.turn();
    expect(client.sink.state).toBe("ended");
    client.wait(10_000);
    expect(client.sink.state).toBe("ended");
    client.drainSink();
    client.wait(1000);
    expect(client.sink.state).toBe("destroyed");
  });

  it("does not wait indefinitely for a client that takes nothing", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000 }).open();
    client.sink.isFast = false;
    client.send(wholeCall(1, "Echo"));
    client.connection.drain();
    client.wait(1000);
    expect(client.sink.state).toBe("ended");
    client.wait(19_000);
    expect(client.sink.state).toBe("ended");
    client.wait(1000);
    expect(client.sink.state).toBe("destroyed");
  });

  it("comes with the age of the connection, and an end with the time of grace", () => {
    const client = new ByteClient({ connectionAgeGraceMs: 5000, keepAliveIntervalMs: 1e6 }, 60_000).open();
    client.send(openCall(1, "Chat"));
    expect(client.wait(59_000)).toEqual([]);
    expect(summarize(client.wait(1000))).toEqual(["GOAWAY 2147483647 0", "PING"]);
    client.wait(4000);
    expect(client.sink.state).toBe("open");
    client.wait(1000);
    expect(client.sink.state).toBe("destroyed");
    expect(client.counters.ageCloses).toBe(1);
  });
});

describe("a sink that takes its time", () => {
  it("gets each piece once, in order", () => {
    const client = new ByteClient().open();
    client.sink.isFast = false;
    const first = client.send(wholeCall(1, "Echo", "one"));
    const second = client.send(wholeCall(3, "Echo", "two"));
    expect(summarize([...first, ...second])).toEqual([...OK(1, 3), ...OK(3, 3)]);
    expect(client.budget.usedBytes).toBe(2 * 16_384);
    expect(client.drainSink()).toEqual([]);
    expect(client.budget.usedBytes).toBe(0);
  });

  it("holds long answers back until it has sent what it has", () => {
    const client = new ByteClient({ unsentMaxBytes: 32_768 }).open([4, 10_000_000]);
    client.send(windowUpdate(10_000_000, 0), wholeCall(1, "Later"));
    client.sink.isFast = false;
    client.service.waiting[0]?.reply(BYTES, Buffer.alloc(1_000_000));
    client.turn();
    expect(client.sink.pendingBytes).toBeLessThan(70_000);
    let drains = 0;
    for (; client.connection.openStreams > 0; drains++) client.drainSink();
    expect(drains).toBeGreaterThan(10);
    client.drainSink();
    expect(client.budget.usedBytes).toBe(0);
  });
});

describe("a long response", () => {
  /** A client whose windows admit everything, and two streams. */
  function openChats(unsentMaxBytes = 32_768) {
    const client = new ByteClient({ unsentMaxBytes }).open([4, 10_000_000]);
    client.send(windowUpdate(10_000_000, 0), openCall(1, "Chat"), openCall(3, "Chat"));
    client.sink.isFast = false;
    return { client, chats: client.service.chats };
  }

  it("lets what the client sends be read between its parts", () => {
    const { client, chats } = openChats();
    chats[0]?.sendShared([Buffer.alloc(1_000_000)]);
    client.turn();
    expect(client.sink.isPaused).toBe(true);
    client.sink.pendingBytes = 0;
    client.connection.sent();
    expect(client.sink.isPaused).toBe(false);
    expect(client.turn().length).toBeGreaterThan(0);
    expect(client.sink.isPaused).toBe(true);
  });

  it("takes turns with the responses of other streams", () => {
    const { client, chats } = openChats();
    for (const chat of chats) chat.sendShared([Buffer.alloc(1_000_000)]);
    client.turn();
    const ids = Array.from({ length: 8 }, () => new Set(client.drainSink().map(({ streamId }) => streamId)));
    for (const id of [1, 3]) expect(ids.filter((each) => each.has(id)).length).toBeGreaterThanOrEqual(3);
  });
});

describe("a header block", () => {
  it("of a refused stream keeps the table in step", () => {
    const client = new ByteClient({ concurrentStreamsMax: 1 }).open();
    const insert = Buffer.concat([Buffer.from([0x40]), literalBlock([["x-trace", "later used"]]).subarray(1)]);
    const block = openCall(1, "Later").subarray(9);
    client.send(wholeCall(1, "Later"));
    client.send(frame(FRAME.HEADERS, FLAG.END_HEADERS, 3, Buffer.concat([block, insert])));
    client.service.waiting[0]?.reply(BYTES, Buffer.from("done"));
    client.turn();
    client.send(
      frame(FRAME.HEADERS, FLAG.END_HEADERS, 5, Buffer.concat([block, Buffer.from([0xbe])])),
      lastData(5, grpcMessage("")),
    );
    expect(client.service.requests).toHaveLength(2);
  });
});
