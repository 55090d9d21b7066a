// Tests of calls over bytes: unary and streaming, and what is refused.
import {
  FLAG,
  FRAME,
  frame,
  grpcMessage,
  lastData,
  literalBlock,
  openCall,
  resetFrame,
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

describe("a unary call", () => {
  it("is answered at its deadline", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Later", { "grpc-timeout": "5S" }), lastData(1, grpcMessage("")));
    expect(client.wait(4000)).toEqual([]);
    expect(summarize(client.wait(1000))).toEqual(["HEADERS 1 end 200 grpc-status 4 Deadline exceeded"]);
  });

  it("is answered in the turn of its request, with one write", () => {
    const client = new ByteClient().open();
    client.sink.writes = 0;
    const frames = client.send(wholeCall(1, "Echo"), wholeCall(3, "Echo"));
    expect(summarize(frames)).toEqual([...OK(1, 5), ...OK(3, 5)]);
    expect(frames[1]?.payload.toString("latin1")).toBe("\0\0\0\0\x05hello");
    expect(client.sink.writes).toBe(1);
  });

  it("is answered later", () => {
    const client = new ByteClient().open();
    expect(client.send(wholeCall(1, "Later", "a"), wholeCall(3, "Later", "b"))).toEqual([]);
    expect(client.service.requests).toEqual(["a", "b"]);
    expect(client.connection.callsInFlight).toBe(2);
    client.service.waiting[1]?.reply(BYTES, Buffer.from("second"));
    client.service.waiting[0]?.fail(5, "nothing there: 100%");
    expect(summarize(client.turn())).toEqual([...OK(3, 6), "HEADERS 1 end 200 grpc-status 5 nothing there: 100%25"]);
    expect(client.connection.callsInFlight).toBe(0);
    expect(client.connection.openStreams).toBe(0);
  });

  it.each([1, 2, 5, 7, 100])("is read from reads of %i bytes", (size) => {
    const client = new ByteClient().open();
    const bytes = wholeCall(1, "Echo", "split over reads");
    const frames = [];
    for (let offset = 0; offset < bytes.length; offset += size)
      frames.push(...client.send(bytes.subarray(offset, offset + size)));
    expect(summarize(frames)).toEqual(OK(1, 16));
    expect(client.budget.usedBytes).toBe(0);
  });

  it.each([
    ["one byte each", [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
    ["the prefix alone", [5, 5]],
    ["a part of the prefix", [3, 7]],
    ["everything, and an empty last one", [10]],
  ])("is read from DATA frames with %s", (_, sizes) => {
    const client = new ByteClient().open();
    const bytes = grpcMessage("hello");
    const parts: Buffer[] = [openCall(1, "Echo")];
    let offset = 0;
    for (const size of sizes) {
      parts.push(frame(FRAME.DATA, 0, 1, bytes.subarray(offset, offset + size)));
      offset += size;
    }
    expect(summarize(client.send(...parts, lastData(1, Buffer.alloc(0))))).toEqual(OK(1, 5));
    expect(client.budget.usedBytes).toBe(0);
  });

  it("keeps its headers when its message comes after other headers", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Later", { "x-trace": "first" }), openCall(3, "Echo", { "x-trace": "second" }));
    client.send(lastData(1, grpcMessage("")));
    expect(client.service.headers[0]).toMatchObject({ "x-trace": "first" });
  });

  it("keeps its headers when its message comes in a later read, after the trailers of another call", () => {
    const client = new ByteClient().open();
    const trailers = frame(FRAME.HEADERS, FLAG.END_STREAM | FLAG.END_HEADERS, 1, literalBlock([["x-a", "1"]]));
    client.send(openCall(1, "Later"), openCall(3, "Later", { "x-b": "2" }), trailers);
    client.send(lastData(3, grpcMessage("hello")));
    expect(client.service.requests).toEqual(["hello"]);
    expect(client.service.headers[0]).toMatchObject({ "x-b": "2" });
    expect(() => client.service.waiting[0]?.headers()).toThrow("the method has been called");
  });

  it("takes padding, priority and trailers", () => {
    const client = new ByteClient().open();
    const block = openCall(1, "Echo").subarray(9);
    const padded = Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 16]), block, Buffer.alloc(3)]);
    const body = grpcMessage("hello");
    const frames = client.send(
      frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.PADDED | FLAG.PRIORITY, 1, padded),
      frame(FRAME.DATA, FLAG.PADDED, 1, Buffer.concat([Buffer.from([9]), body, Buffer.alloc(9)])),
      frame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 1, literalBlock([["x-end", "1"]])),
    );
    expect(summarize(frames)).toEqual(OK(1, 5));
  });

  it("takes a header block in several frames", () => {
    const client = new ByteClient().open();
    const block = openCall(1, "Echo").subarray(9);
    const frames = client.send(
      frame(FRAME.HEADERS, 0, 1, block.subarray(0, 10)),
      frame(FRAME.CONTINUATION, 0, 1, block.subarray(10, 20)),
      frame(FRAME.CONTINUATION, FLAG.END_HEADERS, 1, block.subarray(20)),
      lastData(1, grpcMessage("hello")),
    );
    expect(summarize(frames)).toEqual(OK(1, 5));
    expect(client.budget.usedBytes).toBe(0);
  });

  it("drops the late answer to a stream that the client has reset", () => {
    const client = new ByteClient().open();
    client.send(wholeCall(1, "Later"), resetFrame(1));
    expect(client.connection.callsInFlight).toBe(1);
    client.service.waiting[0]?.reply(BYTES, Buffer.from("late"));
    expect(client.turn()).toEqual([]);
    expect(client.counters.lateAnswers).toBe(1);
    expect(client.connection.callsInFlight).toBe(0);
  });

  it("drops the late answer to a closed connection", () => {
    const client = new ByteClient().open();
    client.send(wholeCall(1, "Later"));
    client.connection.closed();
    client.service.waiting[0]?.reply(BYTES, Buffer.from("late"));
    expect(client.turn()).toEqual([]);
    expect(client.connection.callsInFlight).toBe(0);
  });
});

describe("a deadline", () => {
  it("is answered DEADLINE_EXCEEDED when it passes, and the late answer is dropped", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Later", { "grpc-timeout": "50m" }), lastData(1, grpcMessage("a")));
    expect(client.service.waiting[0]?.deadlineMs).toBe(client.nowMs + 50);
    expect(client.wait(40)).toEqual([]);
    expect(summarize(client.wait(20))).toEqual(["HEADERS 1 end 200 grpc-status 4 Deadline exceeded"]);
    client.service.waiting[0]?.reply(BYTES, Buffer.from("late"));
    expect(client.turn()).toEqual([]);
    expect(client.counters).toMatchObject({ deadlinesExceeded: 1, lateAnswers: 1 });
    expect(client.connection.callsInFlight).toBe(0);
  });

  it("is forgotten when the call is answered", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Later", { "grpc-timeout": "50m" }), lastData(1, grpcMessage("a")));
    client.service.waiting[0]?.reply(BYTES, Buffer.from("in time"));
    expect(summarize(client.turn())).toEqual(OK(1, 7));
    expect(client.wait(2000)).toEqual([]);
    expect(client.counters.deadlinesExceeded).toBe(0);
  });

  it("ends a call whose request is incomplete; its message is then ignored", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Later", { "grpc-timeout": "50m" }));
    expect(summarize(client.wait(100))).toEqual(["HEADERS 1 end 200 grpc-status 4 Deadline exceeded"]);
    expect(client.send(lastData(1, grpcMessage("a")))).toEqual([]);
    expect(client.service.requests).toEqual([]);
    expect(client.connection.openStreams).toBe(0);
  });

  it("cancels a streaming call", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Chat", { "grpc-timeout": "1S" }));
    expect(summarize(client.wait(1100))).toEqual(["HEADERS 1 end 200 grpc-status 4 Deadline exceeded"]);
    expect(client.service.events).toEqual(["cancelled"]);
    expect(client.service.chats[0]?.send(BYTES, Buffer.from("late"))).toBe(false);
    expect(client.connection.callsInFlight).toBe(0);
  });
});

describe("a streaming call", () => {
  it("receives messages and sends answers until it ends", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Chat"), frame(FRAME.DATA, 0, 1, Buffer.concat([grpcMessage("a"), grpcMessage("b")])));
    const [chat] = client.service.chats;
    expect(chat?.send(BYTES, Buffer.from("one"))).toBe(true);
    expect(chat?.send(BYTES, Buffer.from("two"))).toBe(true);
    expect(summarize(client.turn())).toEqual(["HEADERS 1 200", "DATA 1 8", "DATA 1 8"]);
    client.send(lastData(1, grpcMessage("c")));
    expect(client.service.events).toEqual(["message a", "message b", "message c", "half-closed"]);
    chat?.end(0, "");
    expect(summarize(client.turn())).toEqual(["HEADERS 1 end grpc-status 0"]);
    chat?.end(0, "");
    expect(chat?.send(BYTES, Buffer.from("three"))).toBe(false);
    expect(client.turn()).toEqual([]);
    expect(client.connection).toMatchObject({ callsInFlight: 0, openStreams: 0 });
  });

  it("is notified when a message that the client held back is sent, and takes the next one then", () => {
    const client = new ByteClient().open([4, 10]); // SETTINGS_INITIAL_WINDOW_SIZE.
    let sent = 0;
    client.service.onSent = () => (sent += 1);
    client.send(openCall(1, "Chat"));
    const [chat] = client.service.chats;
    expect(chat?.send(BYTES, Buffer.from("one"))).toBe(true);
    expect(sent).toBe(1);
    expect(chat?.send(BYTES, Buffer.from("two"))).toBe(true);
    expect(sent).toBe(1);
    expect(chat?.send(BYTES, Buffer.from("three"))).toBe(false);
    client.send(windowUpdate(100, 1));
    expect(sent).toBe(2);
    expect(chat?.send(BYTES, Buffer.from("three"))).toBe(true);
  });

  it("sends a message in chunks as the client takes it, and takes no memory for it", () => {
    const client = new ByteClient().open([4, 10]); // SETTINGS_INITIAL_WINDOW_SIZE.
    client.send(openCall(1, "Chat"));
    const [chat] = client.service.chats;
    const chunks = ["abc", "", "defghijk", "l"].map((text) => Buffer.from(text));
    expect([chat?.sendShared(chunks), chat?.sendShared(chunks)]).toEqual([true, false]);
    const frames = [...client.turn(), ...client.send(windowUpdate(3, 1)), ...client.send(windowUpdate(100, 1))];
    expect(summarize(frames)).toEqual(["HEADERS 1 200", "DATA 1 10", "DATA 1 3", "DATA 1 4"]);
    const data = Buffer.concat(frames.slice(1).map(({ payload }) => payload));
    expect(data.toString("latin1")).toBe("\0\0\0\0\x0cabcdefghijkl");
    expect(client.budget.usedBytes).toBe(0);
    expect(chat?.sendShared([])).toBe(true);
    expect(summarize(client.turn())).toEqual(["DATA 1 5"]);
  });

  it("is closed when the client has the end and has ended its side, and reported once", () => {
    const client = new ByteClient().open([4, 8]); // SETTINGS_INITIAL_WINDOW_SIZE.
    client.send(openCall(1, "Chat"), openCall(3, "Chat"));
    for (const chat of client.service.chats) {
      chat.send(BYTES, Buffer.from("four"));
      chat.end(0, "");
    }
    client.send(lastData(1, grpcMessage("late")));
    expect(client.service.closed).toBe(0);
    client.send(windowUpdate(1, 1));
    expect([client.service.closed, client.service.events]).toEqual([1, []]);
    client.connection.closed();
    expect([client.service.closed, client.service.events]).toEqual([2, []]);
  });

  it("is reset while the client takes neither message nor status, before or after the end", () => {
    const client = new ByteClient().open([4, 0]); // SETTINGS_INITIAL_WINDOW_SIZE.
    client.send(openCall(1, "Chat"), openCall(3, "Chat"));
    const [first, second] = client.service.chats;
    first?.send(BYTES, Buffer.from("one"));
    first?.end(4, "late");
    expect(summarize(client.turn())).toEqual(["HEADERS 1 200"]);
    for (const chat of [first, second, first]) chat?.reset();
    expect(summarize(client.turn())).toEqual(["RST_STREAM 1 8", "RST_STREAM 3 8"]);
    expect([client.service.closed, client.service.events]).toEqual([2, ["cancelled"]]);
    expect(client.connection).toMatchObject({ callsInFlight: 0, openStreams: 0 });
    expect(client.budget.usedBytes).toBe(0);
  });

  it("ends with a status and no message", () => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Chat"));
    client.service.chats[0]?.end(3, "no");
    expect(summarize(client.turn())).toEqual(["HEADERS 1 end 200 grpc-status 3 no"]);
    expect(client.send(frame(FRAME.DATA, 0, 1, grpcMessage("ignored")))).toEqual([]);
    expect(client.service.events).toEqual([]);
  });

  it.each([
    ["the client resets its stream", (client: ByteClient) => void client.send(resetFrame(1))],
    ["the connection is closed", (client: ByteClient) => client.connection.closed()],
  ])("is cancelled when %s", (_, act) => {
    const client = new ByteClient().open();
    client.send(openCall(1, "Chat"));
    act(client);
    expect(client.service.events).toEqual(["cancelled"]);
    expect(client.connection.callsInFlight).toBe(0);
  });
});

describe("a request that is refused", () => {
  it.each([
    [{ ":path": "/nope.Service/Echo" }, "grpc-status 12 unknown service nope.Service"],
    [{ ":path": "/test.Service/Nope" }, "grpc-status 12 unknown method Nope for service test.Service"],
    [{ ":path": "/" }, 'grpc-status 12 malformed method name: "/"'],
    [{ "grpc-encoding": "gzip" }, 'grpc-status 12 grpc: Decompressor is not installed for grpc-encoding "gzip"'],
    [{ "grpc-timeout": "soon" }, "grpc-status 13 malformed grpc-timeout"],
  ])("with %j gets %s", (extra, expected) => {
    const client = new ByteClient().open();
    const frames = client.send(openCall(1, "Echo", extra), lastData(1, grpcMessage("a")));
    expect(summarize(frames)).toEqual([`HEADERS 1 end 200 ${expected}`]);
    expect(client.counters.grpcRefused).toBe(1);
    expect(client.connection.openStreams).toBe(0);
  });

  it("for an unknown encoding names the one that is implemented", () => {
    const [headers] = new ByteClient().open().send(openCall(1, "Echo", { "grpc-encoding": "gzip" }));
    expect(headers?.fields).toMatchObject({ "grpc-accept-encoding": "identity" });
  });

  it.each([
    [{ "content-type": "application/json" }, 415, "This port serves gRPC: content-type application/grpc\n"],
    [{ "content-type": undefined }, 415, "This port serves gRPC: content-type application/grpc\n"],
    [{ ":method": "GET" }, 405, "gRPC requests use the method POST\n"],
  ])("with %j gets status %i with a text", (extra, status, text) => {
    const client = new ByteClient().open();
    const frames = client.send(openCall(1, "Echo", extra), lastData(1, Buffer.from("{}")));
    expect(summarize(frames)).toEqual([`HEADERS 1 ${status}`, `DATA 1 end ${text.length}`]);
    expect(frames[0]?.fields).toMatchObject({ "content-type": "text/plain; charset=utf-8" });
    expect(frames[1]?.payload.toString()).toBe(text);
    expect(client.counters.notGrpc).toBe(1);
  });

  it("with the method HEAD gets no text", () => {
    const frames = new ByteClient().open().send(openCall(1, "Echo", { ":method": "HEAD", "content-type": undefined }));
    expect(summarize(frames)).toEqual(["HEADERS 1 end 415"]);
  });

  it.each([
    [
      "a compressed message",
      grpcMessage("a", 1),
      "grpc-status 13 grpc: compressed flag set with identity or empty encoding",
    ],
    ["no message", Buffer.alloc(0), "grpc-status 12 Received no request message for a unary method"],
    ["a part of a message", grpcMessage("abc").subarray(0, 6), "grpc-status 13 the request ends within a message"],
    [
      "two messages",
      Buffer.concat([grpcMessage("a"), grpcMessage("b")]),
      "grpc-status 12 Received a second request message for a unary method",
    ],
  ])("for %s gets %s", (_, body, expected) => {
    const client = new ByteClient().open();
    const frames = client.send(openCall(1, "Later"), lastData(1, body));
    expect(summarize(frames)).toEqual([`HEADERS 1 end 200 ${expected}`]);
    expect(client.service.requests).toEqual([]);
    expect(client.budget.usedBytes).toBe(0);
  });
});
