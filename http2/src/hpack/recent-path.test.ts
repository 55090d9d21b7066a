import { expect, it } from "vitest";
import { FieldList } from "./field-list.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { hpackString as plain } from "@weir/harness/http2/http2-frames";
import { huffman, literal } from "./block-writer.suite.ts";

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 1024, tableUpdatesMax: 2 };

/** The index of ":path" in the static table. */
const PATH = 4;

it("HpackDecoder decodes paths that repeat, change, and are too long to be kept", () => {
  const fields = new FieldList(LIMITS);
  const decoder = new HpackDecoder(LIMITS);
  const long = `/${"l".repeat(300)}`;
  const strings = [
    ...[plain("/a"), plain("/a"), huffman("/a"), huffman("/a"), plain("/b"), plain("/b")],
    // Octets of "/a" in Huffman code, as they are: the second one is DEL.
    ...[plain(huffman("/a").subarray(1).toString("latin1")), huffman("/a"), plain(""), plain(""), huffman("")],
    ...[plain(long), plain(long), huffman(long), plain("/a"), plain("/\u0001"), plain("/\u0001")],
  ];
  const seen = strings.map((string) => {
    const block = literal("not inserted", PATH, string);
    expect(decoder.decode(block, 0, block.length, fields)).toBe("ok");
    return [fields.value(0), (fields.marks[0]! >> 8) & 3, fields.origins[0]];
  });
  const encoded = huffman("/a").subarray(1).toString("latin1");
  expect(seen.map(([value]) => value)).toEqual([
    ...["/a", "/a", "/a", "/a", "/b", "/b", encoded, "/a", "", "", "", long, long, long, "/a", "/\u0001", "/\u0001"],
  ]);
  expect(seen.map(([, classes]) => classes)).toEqual([0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3]);
  const origins = seen.map(([, , origin]) => origin);
  expect(origins.map((origin) => (origin === 0 ? 0 : origins.indexOf(origin)))).toEqual([
    ...[0, 0, 2, 2, 4, 4, 6, 7, 8, 8, 10, 0, 0, 0, 14, 15, 15],
  ]);
});

it("HpackDecoder refuses a path without its end each time", () => {
  const decoder = new HpackDecoder(LIMITS);
  const fields = new FieldList(LIMITS);
  const broken = literal("not inserted", PATH, Buffer.from([0x81, 0x00]));
  for (let time = 0; time < 2; time++) expect(decoder.decode(broken, 0, broken.length, fields)).toBe("broken");
});
