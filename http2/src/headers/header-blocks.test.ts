import { describe, expect, it } from "vitest";
import { FieldList } from "../hpack/field-list.ts";
import { HpackEncoder } from "../hpack/hpack-encoder.ts";
import { HeaderBlocks, type HeaderFault } from "./header-blocks.ts";
import type { RequestHead } from "./request-head.ts";

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 1024, tableUpdatesMax: 2 };

const PSEUDO = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/a.B/C"],
] as const;

type Lines = readonly (readonly [string, string])[];

/** A block of literals that are not inserted into the table. */
function block(lines: Lines): Buffer {
  const encoder = new HpackEncoder();
  const target = Buffer.alloc(4096);
  let end = 0;
  for (const [name, value] of lines) end = encoder.field(target, end, name, value);
  return target.subarray(0, end);
}

/** A literal that is inserted into the table. */
function inserted(name: string, value: string): Buffer {
  const literal = block([[name, value]]);
  literal[0]! |= 0x40;
  return literal;
}

function request(blocks: HeaderBlocks, bytes: Buffer): RequestHead | HeaderFault {
  return blocks.request(bytes, 0, bytes.length);
}

function headOf(blocks: HeaderBlocks, ...parts: readonly Buffer[]): RequestHead {
  const head = request(blocks, Buffer.concat(parts));
  if (head.kind !== "head") throw new Error(head.reason);
  return head;
}

function newBlocks(fields = new FieldList(LIMITS)): HeaderBlocks {
  return new HeaderBlocks(LIMITS, fields);
}

describe("HeaderBlocks.request()", () => {
  it("reads what the server needs", () => {
    const head = headOf(
      newBlocks(),
      block([
        ...PSEUDO,
        ["te", "trailers"],
        ["content-type", "application/grpc+proto"],
        ["grpc-timeout", "20m"],
        ["grpc-encoding", "gzip"],
        ["content-length", "0123"],
        ["x-a", "1"],
        ["x-a", "2"],
        ["__proto__", "3"],
      ]),
    );
    expect(head).toMatchObject({
      method: "POST",
      path: "/a.B/C",
      isGrpc: true,
      timeoutMs: 20,
      encoding: "gzip",
      contentLength: 123,
    });
    expect(Object.entries(head.headers())).toEqual([
      ["te", "trailers"],
      ["content-type", "application/grpc+proto"],
      ["grpc-timeout", "20m"],
      ["grpc-encoding", "gzip"],
      ["content-length", "0123"],
      ["x-a", "1, 2"],
      ["__proto__", "3"],
    ]);
  });

  it("reads a request with pseudo-headers alone", () => {
    const head = headOf(newBlocks(), block(PSEUDO));
    expect(head).toMatchObject({
      isGrpc: false,
      timeoutMs: undefined,
      encoding: undefined,
      contentLength: undefined,
    });
    expect(Object.keys(head.headers())).toEqual([]);
  });

  it.each([
    { type: "application/grpc", isGrpc: true },
    { type: "application/grpc;charset=utf-8", isGrpc: true },
    { type: "application/grpc+", isGrpc: true },
    { type: "application/grpc-web", isGrpc: false },
    { type: "application/grpcx", isGrpc: false },
    { type: "application/grp", isGrpc: false },
    { type: "Application/grpc", isGrpc: false },
    { type: "", isGrpc: false },
  ])("content-type $type: gRPC is $isGrpc", ({ type, isGrpc }) => {
    expect(headOf(newBlocks(), block([...PSEUDO, ["content-type", type]])).isGrpc).toBe(isGrpc);
  });

  it("takes the first of a repeated header, as grpc-js does", () => {
    const lines: Lines = [...PSEUDO, ["grpc-timeout", "1S"], ["grpc-timeout", "x"], ["grpc-encoding", "a"]];
    const head = headOf(newBlocks(), block([...lines, ["grpc-encoding", "b"]]));
    expect([head.timeoutMs, head.encoding]).toEqual([1000, "a"]);
  });

  it("shares the head of equal blocks, as long as the table is the same", () => {
    const blocks = newBlocks();
    const first = Buffer.concat([block(PSEUDO), inserted("x-a", "1")]);
    expect(headOf(blocks, first)).not.toBe(headOf(blocks, first)); // Both inserted an entry.
    const indexed = Buffer.concat([block(PSEUDO), Buffer.from([0xbe])]);
    expect(headOf(blocks, indexed)).toMatchObject({ path: "/a.B/C" });
    const head = headOf(blocks, indexed); // Shared from the second time on.
    expect(headOf(blocks, indexed)).toBe(head);
    expect(headOf(blocks, Buffer.concat([Buffer.from([0, 1, 2]), indexed]).subarray(3))).toBe(head);
    expect({ ...head.headers() }).toEqual({ "x-a": "1" });
    headOf(blocks, block(PSEUDO), inserted("x-a", "2"));
    // The same bytes mean another entry now.
    expect({ ...headOf(blocks, indexed).headers() }).toEqual({ "x-a": "2" });
    // An empty table: the same bytes are a fault.
    headOf(blocks, Buffer.from([0x20]), block(PSEUDO));
    expect(request(blocks, indexed)).toEqual({ kind: "connection", reason: "an index without an entry" });
  });

  it("remembers four blocks", () => {
    const blocks = newBlocks();
    const requests = Array.from({ length: 5 }, (_, at) => block([...PSEUDO, ["x-number", `${at}`]]));
    const heads = requests.map((each) => [headOf(blocks, each), headOf(blocks, each)].at(-1));
    expect(requests.slice(1).map((each) => heads.indexOf(headOf(blocks, each)))).toEqual([1, 2, 3, 4]);
    expect(heads).not.toContain(headOf(blocks, requests[0]!));
  });

  it("remembers no block whose headers are long: the table makes a few bytes kilobytes", () => {
    const blocks = newBlocks();
    const [name, value] = ["x-long", "l".repeat(400)];
    headOf(blocks, block(PSEUDO), inserted(name, value));
    const twice = Buffer.concat([block(PSEUDO), Buffer.from([0xbe, 0xbe])]);
    headOf(blocks, twice);
    expect(headOf(blocks, twice)).not.toBe(headOf(blocks, twice));
    const once = Buffer.concat([block(PSEUDO), Buffer.from([0xbe])]);
    headOf(blocks, once);
    expect(headOf(blocks, once)).toBe(headOf(blocks, once));
  });

  it("reads long paths and methods one after the other", () => {
    const blocks = newBlocks();
    for (const path of ["/a", `/${"b".repeat(300)}`, "/a", `/${"c".repeat(300)}`, `/${"d".repeat(300)}`])
      expect(headOf(blocks, block([...PSEUDO.slice(0, 2), [":path", path]])).path).toBe(path);
  });

  it("reads a request again that differs from the one before in other fields alone, or in more", () => {
    const blocks = newBlocks();
    const entry = inserted("grpc-timeout", "1S"); // Index 62 until another entry is inserted.
    const read = (path: string, ...parts: readonly Buffer[]): unknown => {
      const bytes = Buffer.concat([block(PSEUDO.slice(0, 2)), block([[":path", path]]), ...parts]);
      const head = request(blocks, bytes);
      return head.kind === "head" ? { path: head.path, timeoutMs: head.timeoutMs, ...head.headers() } : head.reason;
    };
    expect(read("/a", entry)).toEqual({ path: "/a", timeoutMs: 1000, "grpc-timeout": "1S" });
    const indexed = Buffer.from([0xbe]);
    for (const value of ["1", "2", "3"]) {
      const fields = { path: "/a", timeoutMs: 1000, "grpc-timeout": "1S", "x-a": value };
      expect(read("/a", indexed, block([["x-a", value]]))).toEqual(fields);
    }
    expect(read("/b", indexed)).toMatchObject({ path: "/b", timeoutMs: 1000 });
    expect(read("/b")).toEqual({ path: "/b", timeoutMs: undefined });
    expect(read("/b", indexed, block([["x-a", "\0"]]))).toBe("an illegal octet in a value");
    expect(read("/b", indexed, block([[":path", "/b"]]))).toBe("a pseudo-header after a header");
    expect(read("/b", inserted("grpc-timeout", "2S"))).toMatchObject({ timeoutMs: 2000 });
    expect(read("/b", indexed)).toMatchObject({ timeoutMs: 2000 }); // The same octets mean another entry.
    expect(read("/b", Buffer.from([0xbf]))).toMatchObject({ timeoutMs: 1000 });
  });

  it("does not take a request with the same fields in another order for the one before", () => {
    const blocks = newBlocks();
    // Entries of the static table: POST, http, and the path "/" (RFC 7541, Appendix A).
    const pseudo = Buffer.from([0x83, 0x86, 0x84]);
    const other = block([["x-a", "1"]]);
    expect(headOf(blocks, pseudo, other)).toMatchObject({ path: "/" });
    expect(headOf(blocks, pseudo, block([["x-a", "2"]]))).toMatchObject({ path: "/" });
    expect(request(blocks, Buffer.concat([pseudo.subarray(0, 2), other, pseudo.subarray(2)]))).toMatchObject({
      reason: "a pseudo-header after a header",
    });
    expect(request(blocks, Buffer.concat([pseudo, pseudo.subarray(2)]))).toMatchObject({
      reason: "a field that is repeated",
    });
    expect(request(blocks, pseudo.subarray(0, 2))).toMatchObject({ reason: "a missing pseudo-header" });
  });

  it("keeps headers of an earlier block when asked to, and never returns those of another", () => {
    const fields = new FieldList(LIMITS);
    const [blocks, others] = [newBlocks(fields), newBlocks(fields)];
    const kept = headOf(blocks, block(PSEUDO), inserted("x-a", "1"));
    kept.keep();
    const lost = headOf(blocks, block(PSEUDO), inserted("x-a", "2"));
    headOf(others, block(PSEUDO), inserted("x-a", "3"));
    expect({ ...kept.headers() }).toEqual({ "x-a": "1" });
    expect(() => lost.headers()).toThrow("Cannot read headers: their bytes were reused");
  });

  it("refuses a malformed request, and its entries are in the table", () => {
    const blocks = newBlocks();
    expect(request(blocks, inserted("x-a", "1"))).toEqual({ kind: "malformed", reason: "a missing pseudo-header" });
    expect({ ...headOf(blocks, block(PSEUDO), Buffer.from([0xbe])).headers() }).toEqual({ "x-a": "1" });
  });

  it("refuses a list that is too large, and its entries are in the table", () => {
    const blocks = newBlocks();
    const large = inserted("x-large", "a".repeat(900));
    const parts = [block(PSEUDO), large, inserted("x-small", "1"), large, inserted("x-a", "2"), inserted("x-b", "3")];
    expect(request(blocks, Buffer.concat(parts))).toMatchObject({ kind: "too large" });
    const head = headOf(blocks, block(PSEUDO), Buffer.from([0xbe, 0xbf, 0xc1]));
    expect({ ...head.headers() }).toEqual({ "x-b": "3", "x-a": "2", "x-small": "1" });
  });
});

describe("HeaderBlocks.trailers() and discard()", () => {
  it("decode into the table", () => {
    const blocks = newBlocks();
    const trailers = inserted("x-a", "1");
    expect(blocks.trailers(trailers, 0, trailers.length)).toBeUndefined();
    const refused = inserted(":x-b", "2");
    expect(blocks.trailers(refused, 0, refused.length)).toEqual({
      kind: "malformed",
      reason: "a pseudo-header in trailers",
    });
    const discarded = inserted("x-c", "3");
    expect(blocks.discard(discarded, 0, discarded.length)).toBeUndefined();
    const head = headOf(blocks, block(PSEUDO), Buffer.from([0xbe, 0xc0]));
    expect({ ...head.headers() }).toEqual({ "x-c": "3", "x-a": "1" });
  });

  it("report a broken block", () => {
    const broken = Buffer.from([0x80]);
    const fault = { kind: "connection", reason: "an index without an entry" };
    expect(newBlocks().trailers(broken, 0, 1)).toEqual(fault);
    expect(newBlocks().discard(broken, 0, 1)).toEqual(fault);
  });
});
