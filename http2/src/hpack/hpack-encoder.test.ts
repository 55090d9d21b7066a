import { describe, expect, it } from "vitest";
import { HpackEncoder } from "./hpack-encoder.ts";

/** ":status: 200", then "content-type: application/grpc" as a new entry and as a literal. */
const NEW_CONTENT_TYPE = "88" + "5f10" + Buffer.from("application/grpc").toString("hex");
const LITERAL_CONTENT_TYPE = "88" + "0f1010" + Buffer.from("application/grpc").toString("hex");
const NEW_STATUS = "400b" + Buffer.from("grpc-status").toString("hex") + "0130";
const LITERAL_STATUS = "000b" + Buffer.from("grpc-status").toString("hex") + "0130";

/** The bytes that `write` adds behind others. */
function written(write: (target: Buffer, offset: number) => number): string {
  const target = Buffer.alloc(64, 0xee);
  const end = write(target, 5);
  expect(target.subarray(0, 5).equals(Buffer.alloc(5, 0xee))).toBe(true);
  expect(target.subarray(end).equals(Buffer.alloc(64 - end, 0xee))).toBe(true);
  return target.toString("hex", 5, end);
}

function headersOf(encoder: HpackEncoder): string {
  return written((target, offset) => encoder.responseHeaders(target, offset));
}

function trailersOf(encoder: HpackEncoder): string {
  return written((target, offset) => encoder.okTrailers(target, offset));
}

describe("HpackEncoder", () => {
  it("inserts two entries and then refers to them", () => {
    const encoder = new HpackEncoder();
    expect([headersOf(encoder), headersOf(encoder)]).toEqual([NEW_CONTENT_TYPE, "88be"]);
    expect([trailersOf(encoder), trailersOf(encoder)]).toEqual([NEW_STATUS, "be"]);
    expect([headersOf(encoder), trailersOf(encoder)]).toEqual(["88bf", "be"]);
  });

  it("announces no table that is larger than 4,096 bytes", () => {
    const encoder = new HpackEncoder();
    encoder.setTableMaxBytes(2 ** 32 - 1);
    expect([headersOf(encoder), headersOf(encoder)]).toEqual([NEW_CONTENT_TYPE, "88be"]);
  });

  it.each([
    { bytes: 0, update: "20" },
    { bytes: 103, update: "20" },
  ])("writes literals while the peer's table has $bytes bytes", ({ bytes, update }) => {
    const encoder = new HpackEncoder();
    headersOf(encoder);
    encoder.setTableMaxBytes(bytes);
    expect([headersOf(encoder), headersOf(encoder)]).toEqual([update + LITERAL_CONTENT_TYPE, LITERAL_CONTENT_TYPE]);
    expect(trailersOf(encoder)).toBe(LITERAL_STATUS);
    encoder.setTableMaxBytes(4096);
    expect([trailersOf(encoder), headersOf(encoder)]).toEqual([`3fe11f${NEW_STATUS}`, NEW_CONTENT_TYPE]);
    expect([headersOf(encoder), trailersOf(encoder)]).toEqual(["88be", "bf"]);
  });

  it("keeps its entries in a table of 104 bytes", () => {
    const encoder = new HpackEncoder();
    headersOf(encoder);
    trailersOf(encoder);
    encoder.setTableMaxBytes(104);
    expect([headersOf(encoder), trailersOf(encoder)]).toEqual(["3f4988bf", "be"]);
  });

  it("announces the smallest size between two blocks before the last one", () => {
    const encoder = new HpackEncoder();
    headersOf(encoder);
    for (const bytes of [200, 0, 1000, 4096, 300]) encoder.setTableMaxBytes(bytes);
    expect(headersOf(encoder)).toBe(`203f8d02${NEW_CONTENT_TYPE}`);
  });

  it("writes other statuses and fields as literals", () => {
    const encoder = new HpackEncoder();
    expect(written((target, offset) => encoder.status(target, offset, 200))).toBe("88");
    expect(written((target, offset) => encoder.status(target, offset, 415))).toBe("0e03343135");
    expect(written((target, offset) => encoder.field(target, offset, "a", "bé"))).toBe("0001610262e9");
    const target = Buffer.alloc(400);
    const end = encoder.field(target, 0, "a", "b".repeat(300));
    expect(target.toString("hex", 0, 6)).toBe("0001617fad01");
    expect(end).toBe(306);
  });
});
