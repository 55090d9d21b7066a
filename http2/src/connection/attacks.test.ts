// Tests of what a hostile client can do: each attack meets its bound and its counter.
import {
  FLAG,
  FRAME,
  frame,
  grpcMessage,
  lastData,
  literalBlock,
  openCall,
  requestBlock,
  resetFrame,
  settingsFrame,
  wholeCall,
  windowUpdate,
} from "@weir/harness/http2/http2-frames";
import { describe, expect, it } from "vitest";

import { BYTES } from "../grpc/test-service.suite.ts";
import { ByteClient } from "./byte-client.suite.ts";
import { summarize } from "./received-frames.suite.ts";

const ENHANCE_YOUR_CALM = 11;

/** Bytes that a call of openCall() costs while it waits for its message. */
const WAITING_CALL_BYTES = 584;
const PING = frame(FRAME.PING, 0, 0, Buffer.alloc(8));

/** Odd identifiers from 1 on. */
function ids(count: number, first = 1): readonly number[] {
  return Array.from({ length: count }, (_, index) => first + 2 * index);
}

describe("open streams", () => {
  it("above the announced number are refused with REFUSED_STREAM", () => {
    const client = new ByteClient({ concurrentStreamsMax: 2 });
    const [settings] = client.send(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settingsFrame());
    expect(settings?.payload.subarray(0, 6)).toEqual(Buffer.from([0, 3, 0, 0, 0, 2]));
    const frames = client.send(wholeCall(1, "Later"), wholeCall(3, "Later"), wholeCall(5, "Later"));
    expect(summarize(frames)).toEqual(["RST_STREAM 5 7"]);
    expect(client.service.requests).toHaveLength(2);
    expect(client.counters.streamsRefused).toBe(1);
    client.service.waiting[0]?.reply(BYTES, Buffer.from("a"));
    client.turn();
    client.send(wholeCall(7, "Later"));
    expect(client.service.requests).toHaveLength(3);
  });

  it("above the number end the connection when a client that knows the number continues", () => {
    const client = new ByteClient({ concurrentStreamsMax: 1, streamErrorsMax: 10 }).open();
    client.send(frame(FRAME.SETTINGS, FLAG.ACK, 0), openCall(1, "Echo"));
    const frames = client.send(...ids(11, 3).map((id) => openCall(id, "Echo")));
    expect(summarize(frames).at(-1)).toBe(`GOAWAY 23 ${ENHANCE_YOUR_CALM} Too many faulty streams`);
    expect(client.counters).toMatchObject({ streamsRefused: 11, streamErrorFloods: 1 });
  });
});

describe("calls in flight", () => {
  it("are bounded also when their streams are reset", () => {
    const client = new ByteClient({ callsInFlightMax: 3 }).open();
    for (const id of ids(3)) client.send(wholeCall(id, "Later"), resetFrame(id));
    expect(client.connection).toMatchObject({ callsInFlight: 3, openStreams: 0 });
    const text = "too many calls are in flight on this connection";
    expect(summarize(client.send(wholeCall(7, "Later")))).toEqual([`HEADERS 7 end 200 grpc-status 14 ${text}`]);
    expect(client.counters.callsRefused).toBe(1);
    client.service.waiting[0]?.reply(BYTES, Buffer.from("late"));
    expect(client.send(wholeCall(9, "Later"))).toEqual([]);
  });
});

describe("rapid reset", () => {
  it("ends the connection", () => {
    const client = new ByteClient({ clientResetsMax: 100 }).open();
    const frames = client.send(...ids(101).flatMap((id) => [openCall(id, "Echo"), resetFrame(id)]));
    expect(summarize(frames)).toEqual([`GOAWAY 201 ${ENHANCE_YOUR_CALM} Too many resets`]);
    expect(client.counters).toMatchObject({ clientResets: 101, resetFloods: 1, connectionErrors: 1 });
    expect(client.sink.state).toBe("ended");
  });

  it("is told from a client whose calls are answered, of which some take too long", () => {
    const client = new ByteClient({ clientResetsMax: 100, callsInFlightMax: 1000 }).open();
    for (const id of ids(400))
      client.send(id % 4 === 1 ? Buffer.concat([wholeCall(id, "Later"), resetFrame(id)]) : wholeCall(id, "Echo"));
    expect(client.counters).toMatchObject({ clientResets: 200, resetFloods: 0 });
  });

  it("is counted per window of time", () => {
    const client = new ByteClient({ clientResetsMax: 100, frameWindowMs: 5000 }).open();
    for (const start of [1, 201, 401]) {
      client.send(...ids(100, start).flatMap((id) => [openCall(id, "Echo"), resetFrame(id)]));
      client.wait(5000);
    }
    expect(client.sink.state).toBe("open");
  });
});

describe("made-you-reset", () => {
  it.each([
    ["WINDOW_UPDATE of 0", (id: number) => [openCall(id, "Echo"), windowUpdate(0, id)]],
    ["a window above 2^31-1", (id: number) => [openCall(id, "Echo"), windowUpdate(0x7fff_ffff, id)]],
    ["DATA after the end", (id: number) => [wholeCall(id, "Later"), lastData(id, Buffer.alloc(0))]],
    [
      "more DATA than content-length",
      (id: number) => [openCall(id, "Echo", { "content-length": "1" }), lastData(id, grpcMessage("a"))],
    ],
    ["malformed headers", (id: number) => [openCall(id, "Echo", { Upper: "case" })]],
    ["trailers without END_STREAM", (id: number) => [openCall(id, "Echo"), openCall(id, "Echo")]],
  ])("by %s ends the connection", (_, attack) => {
    const client = new ByteClient({ streamErrorsMax: 50 }).open();
    const frames = client.send(...ids(60).flatMap(attack));
    expect(summarize(frames).at(-1)).toBe(`GOAWAY 101 ${ENHANCE_YOUR_CALM} Too many faulty streams`);
    expect(frames.filter(({ type }) => type === "RST_STREAM")).toHaveLength(51);
    expect(client.counters).toMatchObject({ streamErrors: 51, streamErrorFloods: 1 });
    expect(client.connection.openStreams).toBe(0);
  });
});

describe("a CONTINUATION flood", () => {
  it("of many frames ends the connection before the block is complete", () => {
    const client = new ByteClient().open();
    const frames = client.send(
      frame(FRAME.HEADERS, 0, 1, Buffer.alloc(0)),
      ...ids(9).map(() => frame(FRAME.CONTINUATION, 0, 1, Buffer.alloc(0))),
    );
    expect(summarize(frames)).toEqual([`GOAWAY 0 ${ENHANCE_YOUR_CALM} A header block is too long`]);
    expect(client.counters.headerFloods).toBe(1);
  });

  it("of many bytes ends the connection before the block is complete", () => {
    const client = new ByteClient().open();
    const filler = literalBlock([["x-filler", "x".repeat(16_000)]]);
    const part = (type: number) => frame(type, 0, 1, filler);
    const frames = client.send(part(FRAME.HEADERS), part(FRAME.CONTINUATION), part(FRAME.CONTINUATION));
    expect(summarize(frames)).toEqual([`GOAWAY 0 ${ENHANCE_YOUR_CALM} A header block is too long`]);
    expect(client.budget.usedBytes).toBe(0);
  });
});

describe("an HPACK bomb", () => {
  it("gets status 431, and the connection stays in step", () => {
    const client = new ByteClient().open();
    const entry = Buffer.concat([Buffer.from([0x40]), literalBlock([["x-bomb", "b".repeat(3000)]]).subarray(1)]);
    const bomb = Buffer.concat([requestBlock("Echo"), entry, Buffer.alloc(2000, 0xbe)]);
    const frames = client.send(frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 1, bomb), wholeCall(3, "Echo"));
    expect(summarize(frames)).toEqual([
      "HEADERS 1 end 431",
      "HEADERS 3 200",
      "DATA 3 10",
      "HEADERS 3 end grpc-status 0",
    ]);
    expect(client.counters.headersTooLarge).toBe(1);
  });

  it("of many table size updates ends the connection", () => {
    const client = new ByteClient().open();
    const frames = client.send(frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, Buffer.alloc(8000, 0x20)));
    expect(frames).toMatchObject([{ type: "GOAWAY", code: 9 }]);
  });

  it("of a larger table than announced ends the connection", () => {
    const client = new ByteClient().open();
    const frames = client.send(frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, Buffer.from([0x3f, 0xe2, 0x1f])));
    expect(frames).toMatchObject([{ type: "GOAWAY", code: 9 }]);
  });
});

describe("a flood of frames that carry no call", () => {
  it.each([
    ["SETTINGS", settingsFrame([4, 65_535])],
    ["acknowledgements of SETTINGS", frame(FRAME.SETTINGS, FLAG.ACK, 0)],
    ["PING", PING],
    ["acknowledgements of PING", frame(FRAME.PING, FLAG.ACK, 0, Buffer.alloc(8))],
    ["PRIORITY", frame(FRAME.PRIORITY, 0, 1, Buffer.alloc(5))],
    ["WINDOW_UPDATE", windowUpdate(1, 0)],
    ["WINDOW_UPDATE of a stream", windowUpdate(1, 1)],
    ["empty DATA", frame(FRAME.DATA, 0, 1)],
    ["padding", frame(FRAME.DATA, FLAG.PADDED, 1, Buffer.from([1, 0]))],
    ["unknown types", frame(77, 0, 0, Buffer.alloc(3))],
    ["GOAWAY", frame(FRAME.GOAWAY, 0, 0, Buffer.alloc(8))],
  ])("ends the connection: %s", (_, flood) => {
    const client = new ByteClient({ controlFramesMax: 100 }).open();
    client.send(openCall(1, "Echo"));
    const frames = client.send(...Array.from({ length: 101 }, () => flood));
    expect(summarize(frames).at(-1)).toBe(`GOAWAY 1 ${ENHANCE_YOUR_CALM} Too many control frames`);
    expect(client.counters.controlFrameFloods).toBe(1);
  });

  it("is told from a client that sends several for each answer, as gRPC and Envoy do", () => {
    const client = new ByteClient({ controlFramesMax: 100 }).open();
    for (const id of ids(500)) client.send(wholeCall(id, "Echo"), windowUpdate(10, 0), windowUpdate(10, 0), PING);
    expect(client.sink.state).toBe("open");
    expect(client.counters).toMatchObject({ calls: 500, controlFrameFloods: 0 });
  });

  it("is counted per window of time", () => {
    const client = new ByteClient({ controlFramesMax: 100, frameWindowMs: 5000 }).open();
    for (let window = 0; window < 5; window++) {
      client.send(...Array.from({ length: 90 }, () => PING));
      client.wait(5000);
    }
    expect(client.sink.state).toBe("open");
  });

  it("of DATA for a stream that the server has reset ends the connection", () => {
    const client = new ByteClient({ controlFramesMax: 100 }).open();
    client.send(openCall(1, "Echo", { Upper: "case" }));
    const frames = client.send(...Array.from({ length: 101 }, () => frame(FRAME.DATA, 0, 1, Buffer.alloc(1))));
    expect(summarize(frames)).toEqual([`GOAWAY 1 ${ENHANCE_YOUR_CALM} Too many control frames`]);
  });

  it("of answers that are sent byte by byte ends the connection", () => {
    const client = new ByteClient({ controlFramesMax: 100 }).open([4, 0]);
    client.send(wholeCall(1, "Echo", "x".repeat(1000)));
    const frames = client.send(...Array.from({ length: 100 }, () => windowUpdate(1, 1)));
    expect(summarize(frames).at(-1)).toBe(`GOAWAY 1 ${ENHANCE_YOUR_CALM} Too many control frames`);
  });
});

describe("messages", () => {
  it("above the largest size get RESOURCE_EXHAUSTED", () => {
    const client = new ByteClient({ messageMaxBytes: 20_000 }).open();
    const claim = grpcMessage(Buffer.alloc(20_001)).subarray(0, 100);
    const frames = client.send(openCall(1, "Echo"), frame(FRAME.DATA, 0, 1, claim));
    const text = "grpc: received message larger than max (20001 vs. 20000)";
    expect(summarize(frames)).toEqual([`HEADERS 1 end 200 grpc-status 8 ${text}`]);
    expect(client.counters.messagesTooLarge).toBe(1);
  });

  it("in one frame above the largest size get RESOURCE_EXHAUSTED", () => {
    const client = new ByteClient({ messageMaxBytes: 100 }).open();
    const frames = client.send(wholeCall(1, "Echo", "x".repeat(101)));
    expect(frames[0]?.fields).toMatchObject({ "grpc-status": "8" });
  });

  it("that are sent on after the answer are stopped", () => {
    const client = new ByteClient({ messageMaxBytes: 20_000 }).open();
    const part = frame(FRAME.DATA, 0, 1, Buffer.concat([Buffer.from([0, 1, 0, 0, 0]), Buffer.alloc(16_000)]));
    const frames = client.send(openCall(1, "Echo"), part, part, part);
    expect(summarize(frames)).toMatchObject([expect.stringContaining("grpc-status 8"), "RST_STREAM 1 0"]);
    expect(client.connection.openStreams).toBe(0);
  });

  it("that are incomplete share one budget over all connections", () => {
    const client = new ByteClient({ processMaxBytes: 30_000 }).open();
    const part = (id: number) => frame(FRAME.DATA, 0, id, grpcMessage(Buffer.alloc(20_000)).subarray(0, 16_000));
    expect(client.send(openCall(1, "Echo"), part(1))).toEqual([]);
    expect(client.budget.usedBytes).toBe(16_000 + WAITING_CALL_BYTES);
    const frames = client.send(openCall(3, "Echo"), part(3));
    const text = "the server has no memory for further requests";
    expect(summarize(frames)).toEqual([`HEADERS 3 end 200 grpc-status 8 ${text}`]);
    expect(client.counters.messagesWithoutMemory).toBe(1);
    client.send(resetFrame(1));
    expect(client.budget.usedBytes).toBe(0);
  });

  it("that are complete but not ended are part of the budget", () => {
    const client = new ByteClient({ processMaxBytes: 20_000 }).open();
    const whole = frame(FRAME.DATA, 0, 1, grpcMessage(Buffer.alloc(15_000)));
    client.send(openCall(1, "Echo"), whole);
    expect(client.budget.usedBytes).toBe(15_000 + WAITING_CALL_BYTES);
    const frames = client.send(openCall(3, "Echo"), frame(FRAME.DATA, 0, 3, grpcMessage(Buffer.alloc(15_000))));
    expect(frames[0]?.fields).toMatchObject({ "grpc-status": "8" });
    client.connection.closed();
    expect(client.budget.usedBytes).toBe(0);
  });

  it("whose length is only claimed take no memory", () => {
    const client = new ByteClient().open();
    const claim = grpcMessage(Buffer.alloc(4_000_000)).subarray(0, 6);
    client.send(...ids(1000).flatMap((id) => [openCall(id, "Echo"), frame(FRAME.DATA, 0, id, claim)]));
    expect(client.budget.usedBytes).toBe(1000 * (1024 + WAITING_CALL_BYTES));
  });

  it.each(["Echo", "Chat"])("of %s that come byte by byte for more than a minute are reset", (method) => {
    const client = new ByteClient().open();
    client.send(openCall(1, method), frame(FRAME.DATA, 0, 1, grpcMessage(Buffer.alloc(2000)).subarray(0, 1500)));
    for (let seconds = 0; seconds < 60; seconds += 10) {
      expect(client.wait(10_000)).toEqual([]);
      client.send(frame(FRAME.DATA, 0, 1, Buffer.alloc(1)));
    }
    expect(client.budget.usedBytes).toBeGreaterThan(1500);
    expect(summarize(client.wait(1000))).toEqual(["RST_STREAM 1 8"]);
    expect([client.counters.streamStalls, client.budget.usedBytes]).toEqual([1, 0]);
  });

  it("of a streaming call have a minute each", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Chat"));
    const bytes = grpcMessage("hello");
    for (let sent = 0; sent < 30; sent++) {
      client.send(frame(FRAME.DATA, 0, 1, Buffer.from([bytes[sent % bytes.length] ?? 0])));
      client.wait(5000);
    }
    expect([client.service.events.length, client.counters.streamStalls]).toEqual([3, 0]);
  });

  it("that stop half-way are reset, and their memory is free again", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000, keepAliveIntervalMs: 60_000 }).open();
    client.send(openCall(1, "Echo"), frame(FRAME.DATA, 0, 1, grpcMessage("hello").subarray(0, 7)));
    expect(client.wait(20_000)).toEqual([]);
    expect(summarize(client.wait(1000))).toEqual(["RST_STREAM 1 8"]);
    expect(client.counters.streamStalls).toBe(1);
    expect(client.budget.usedBytes).toBe(0);
  });
});

describe("a call that its client does not end", () => {
  it.each([
    ["without a message", []],
    ["with a message", [frame(FRAME.DATA, 0, 1, grpcMessage("hello"))]],
  ])("is reset %s, and its memory is free again", (_, data) => {
    const client = new ByteClient({ stallTimeoutMs: 20_000, keepAliveIntervalMs: 60_000 }).open();
    client.send(openCall(1, "Echo"), ...data);
    expect(client.budget.usedBytes).toBeGreaterThan(0);
    expect(client.wait(20_000)).toEqual([]);
    expect(summarize(client.wait(1000))).toEqual(["RST_STREAM 1 8"]);
    expect(client.counters.streamStalls).toBe(1);
    expect([client.connection.openStreams, client.budget.usedBytes]).toEqual([0, 0]);
  });

  it("after the answer is reset without an error", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000, keepAliveIntervalMs: 60_000 }).open();
    client.send(openCall(1, "Chat"), openCall(3, "Unknown"));
    client.service.chats[0]?.end(0, "");
    client.turn();
    expect(summarize(client.wait(21_000))).toEqual(["RST_STREAM 1 0", "RST_STREAM 3 0"]);
    expect(client.connection.openStreams).toBe(0);
  });

  it("is told from one that grows, one that a method works on, and a stream that is quiet", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000, keepAliveIntervalMs: 1e6 }).open();
    client.send(openCall(1, "Chat"), wholeCall(3, "Later"), openCall(5, "Echo"));
    client.send(frame(FRAME.DATA, 0, 5, grpcMessage("hello").subarray(0, 5)));
    for (const octet of Buffer.from("hello")) {
      client.wait(11_000);
      client.send(frame(FRAME.DATA, 0, 5, Buffer.from([octet])));
    }
    expect(summarize(client.send(lastData(5, Buffer.alloc(0))))).toContain("DATA 5 10");
    expect(client.counters.streamStalls).toBe(0);
  });

  it("frees a message that is not used any more with the answer", () => {
    const client = new ByteClient().open();
    const part = frame(FRAME.DATA, 0, 1, grpcMessage("hello"));
    client.send(openCall(1, "Echo", { "grpc-timeout": "1S" }), part);
    expect(summarize(client.wait(1000))).toEqual(["HEADERS 1 end 200 grpc-status 4 Deadline exceeded"]);
    expect(client.budget.usedBytes).toBe(0);
  });
});

describe("headers that the table makes large", () => {
  const entry = Buffer.concat([Buffer.from([0x40]), literalBlock([["x-large", "l".repeat(3000)]]).subarray(1)]);
  const block = requestBlock("Echo");
  const first = frame(FRAME.HEADERS, FLAG.END_HEADERS, 1, Buffer.concat([block, entry]));
  const later = (id: number) =>
    frame(
      FRAME.HEADERS,
      FLAG.END_HEADERS,
      id,
      Buffer.concat([block, literalBlock([["x-id", String(id)]]), Buffer.alloc(4, 0xbe)]),
    );

  it("are part of the budget while their calls wait for a message", () => {
    const client = new ByteClient({ processMaxBytes: 100_000 }).open();
    const frames = client.send(first, ...ids(20, 3).map(later));
    expect(client.budget.usedBytes).toBeGreaterThan(80_000);
    expect(client.budget.usedBytes).toBeLessThanOrEqual(100_000);
    const text = "the server has no memory for further requests";
    expect(summarize(frames).at(-1)).toBe(`HEADERS 41 end 200 grpc-status 8 ${text}`);
    expect(client.counters.messagesWithoutMemory).toBeGreaterThan(10);
    for (const id of ids(21)) client.send(resetFrame(id));
    expect(client.budget.usedBytes).toBe(0);
  });

  it("are not kept for calls that a method works on", () => {
    const client = new ByteClient().open();
    client.send(
      first,
      lastData(1, grpcMessage("")),
      ...ids(20, 3).flatMap((id) => [later(id), lastData(id, grpcMessage(""))]),
    );
    expect(client.budget.usedBytes).toBe(0);
  });
});

describe("a slow reader", () => {
  it("of an answer that its window does not allow has its stream reset", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000, keepAliveIntervalMs: 60_000 }).open([4, 0]);
    expect(summarize(client.send(wholeCall(1, "Echo")))).toEqual(["HEADERS 1 200"]);
    expect(client.budget.usedBytes).toBeGreaterThan(0);
    expect(client.wait(20_000)).toEqual([]);
    expect(summarize(client.wait(1000))).toEqual(["RST_STREAM 1 8"]);
    expect(client.counters.streamStalls).toBe(1);
    expect(client.budget.usedBytes).toBe(0);
  });

  it("that takes a byte now and then keeps its stream", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000 }).open([4, 0]);
    client.send(wholeCall(1, "Echo"));
    for (let index = 0; index < 9; index++) {
      client.wait(6_000);
      expect(summarize(client.send(windowUpdate(1, 1)))).toEqual(["DATA 1 1"]);
    }
    expect(summarize(client.send(windowUpdate(1, 1)))).toEqual(["DATA 1 1", "HEADERS 1 end grpc-status 0"]);
  });

  it("that takes longer than a minute for an answer has its stream reset", () => {
    const client = new ByteClient().open([4, 0]);
    client.send(wholeCall(1, "Echo"));
    for (let seconds = 0; seconds < 60; seconds += 10) {
      expect(client.wait(10_000)).toEqual([]);
      expect(summarize(client.send(windowUpdate(1, 1)))).toEqual(["DATA 1 1"]);
    }
    expect(summarize(client.wait(1000))).toEqual(["RST_STREAM 1 8"]);
    expect([client.counters.streamStalls, client.budget.usedBytes]).toEqual([1, 0]);
  });

  it("of a streaming call has a minute for each message", () => {
    const client = new ByteClient().open([4, 0]);
    client.send(openCall(1, "Chat"));
    for (let message = 0; message < 4; message++) {
      client.service.chats[0]?.send(BYTES, Buffer.from("hello"));
      client.turn();
      for (let seconds = 0; seconds < 40; seconds += 10) {
        client.wait(10_000);
        client.send(windowUpdate(1, 1));
      }
      client.send(windowUpdate(6, 1));
    }
    expect([client.counters.streamStalls, client.connection.openStreams]).toEqual([0, 1]);
  });

  it("is not read from while its output is unsent", () => {
    const client = new ByteClient({ unsentMaxBytes: 1000 }).open();
    client.sink.isFast = false;
    client.send(...ids(40).map((id) => wholeCall(id, "Echo")));
    expect(client.sink.isPaused).toBe(true);
    expect(client.counters.readPauses).toBe(1);
    client.drainSink();
    expect(client.sink.isPaused).toBe(false);
    expect(client.budget.usedBytes).toBe(0);
  });

  it("of many small answers, each of which takes a chunk, is not read from", () => {
    const client = new ByteClient({ unsentMaxBytes: 256 * 1024 }).open();
    client.sink.isFast = false;
    for (const id of ids(1000)) if (!client.sink.isPaused) client.send(wholeCall(id, "Echo"));
    expect(client.budget.usedBytes).toBeLessThanOrEqual(256 * 1024);
  });

  it.each([
    ["it takes them", (client: ByteClient) => void client.drainSink()],
    ["its connection is closed", (client: ByteClient) => client.connection.closed()],
  ])("with a protocol error leaves its answers in the budget until %s", (_, release) => {
    const client = new ByteClient().open();
    client.sink.isFast = false;
    client.send(wholeCall(1, "Echo"));
    client.send(frame(FRAME.DATA, 0, 0));
    expect([client.sink.state, client.budget.usedBytes]).toEqual(["ended", 2 * 16_384]);
    release(client);
    expect(client.budget.usedBytes).toBe(0);
  });

  it("is not read from while the process has no memory left", () => {
    const client = new ByteClient({ processMaxBytes: 10_000 }).open();
    client.sink.isFast = false;
    client.send(wholeCall(1, "Echo"));
    expect(client.sink.isPaused).toBe(true);
  });

  it("of its socket is closed when nothing of it is sent for a time", () => {
    const client = new ByteClient({ stallTimeoutMs: 20_000 }).open();
    client.sink.isFast = false;
    client.send(wholeCall(1, "Echo"));
    client.wait(20_000);
    expect(client.sink.state).toBe("open");
    client.wait(1000);
    expect(client.sink.state).toBe("destroyed");
    expect(client.counters.connectionStalls).toBe(1);
  });

  it("that takes its answers slowly is alive although it is not read from", () => {
    const client = new ByteClient({ unsentMaxBytes: 1, stallTimeoutMs: 20_000 }).open();
    client.sink.isFast = false;
    client.send(wholeCall(1, "Echo"));
    expect(client.sink.isPaused).toBe(true);
    for (let index = 0; index < 9; index++) {
      client.wait(10_000);
      client.connection.sent();
    }
    expect(client.sink.state).toBe("open");
  });

  it("gets no larger answers than there is memory for", () => {
    const client = new ByteClient({ processMaxBytes: 2000 }).open([4, 0]);
    const frames = client.send(wholeCall(1, "Echo", "x".repeat(1000)), wholeCall(3, "Echo", "x".repeat(1000)));
    expect(summarize(frames)).toEqual(["HEADERS 1 200", "HEADERS 3 200", `RST_STREAM 3 ${ENHANCE_YOUR_CALM}`]);
    expect(client.counters.answersWithoutMemory).toBe(1);
  });

  it("of a stream is reported to the method, which may drop messages", () => {
    const client = new ByteClient().open([4, 0]);
    client.send(openCall(1, "Chat"));
    const [chat] = client.service.chats;
    expect(chat?.send(BYTES, Buffer.from("waits"))).toBe(true);
    expect(chat?.send(BYTES, Buffer.from("dropped"))).toBe(false);
    chat?.end(0, "");
    expect(summarize(client.turn())).toEqual(["HEADERS 1 200"]);
    expect(summarize(client.send(windowUpdate(100, 1)))).toEqual(["DATA 1 10", "HEADERS 1 end grpc-status 0"]);
  });
});

describe("calls as fast as possible", () => {
  it("are read 64 KiB at a time: then other connections have their turn", () => {
    const client = new ByteClient().open();
    const calls = Buffer.concat(ids(1000).map((id) => wholeCall(id, "Echo", "x".repeat(80))));
    client.connection.receive(calls.subarray(0, 65_000));
    expect(client.sink.isPaused).toBe(false);
    client.connection.receive(calls.subarray(65_000, 66_000));
    expect(client.sink.isPaused).toBe(true);
    client.turn();
    expect(client.sink.isPaused).toBe(false);
  });
});

describe("a connection that does not move", () => {
  it.each([
    ["no byte", Buffer.alloc(0)],
    ["half a preface", Buffer.from("PRI * HTTP/2.0")],
    ["a preface without SETTINGS", Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")],
  ])("is closed after %s", (_, first) => {
    const client = new ByteClient({ prefaceTimeoutMs: 10_000 });
    client.send(first);
    client.wait(9000);
    expect(client.sink.state).toBe("open");
    client.wait(1000);
    expect(client.sink.state).toBe("destroyed");
    expect(client.counters.prefaceTimeouts).toBe(1);
  });

  it("is closed gracefully without a first request", () => {
    const client = new ByteClient({ firstRequestTimeoutMs: 60_000, keepAliveIntervalMs: 100_000 }).open();
    expect(summarize(client.wait(60_000))).toEqual(["GOAWAY 2147483647 0", "PING"]);
    expect(client.counters.idleCloses).toBe(1);
  });

  it.each([
    ["a frame", wholeCall(1, "Echo").subarray(0, 20)],
    ["a header block", frame(FRAME.HEADERS, 0, 1, Buffer.alloc(10))],
  ])("in the middle of %s is closed, and its memory is free again", (_, part) => {
    const client = new ByteClient({ stallTimeoutMs: 20_000 }).open();
    client.send(part);
    expect(client.budget.usedBytes).toBeGreaterThan(0);
    client.wait(22_000);
    expect(client.sink.state).toBe("destroyed");
    expect(client.counters.connectionStalls).toBe(1);
    client.connection.closed();
    expect(client.budget.usedBytes).toBe(0);
  });

  it("is pinged, and closed when the peer is gone", () => {
    const client = new ByteClient({ keepAliveIntervalMs: 30_000, keepAliveTimeoutMs: 20_000 }).open();
    client.send(wholeCall(1, "Echo"));
    expect(client.wait(30_000)).toEqual([]);
    expect(summarize(client.wait(1000))).toEqual(["PING"]);
    client.wait(18_000);
    expect(client.sink.state).toBe("open");
    client.wait(2000);
    expect(client.sink.state).toBe("destroyed");
    expect(client.counters.keepAliveTimeouts).toBe(1);
  });

  it("stays when the peer acknowledges", () => {
    const client = new ByteClient({ keepAliveIntervalMs: 30_000, keepAliveTimeoutMs: 20_000 }).open();
    client.send(wholeCall(1, "Echo"));
    for (let round = 0; round < 5; round++) {
      const ping = client.wait(32_000).find(({ type }) => type === "PING");
      client.send(frame(FRAME.PING, FLAG.ACK, 0, ping?.payload));
    }
    expect(client.sink.state).toBe("open");
  });
});

describe("stream identifiers", () => {
  it("that run out close the connection gracefully, long before the last", () => {
    const client = new ByteClient({ streamIdMax: 0x7000_0000 }).open();
    client.send(wholeCall(0x7000_0001, "Echo"));
    expect(summarize(client.wait(1000))).toEqual(["GOAWAY 2147483647 0", "PING"]);
    expect(client.counters.streamIdCloses).toBe(1);
  });
});
