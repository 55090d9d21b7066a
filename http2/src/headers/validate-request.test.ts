import { describe, expect, it } from "vitest";
import { FieldList } from "../hpack/field-list.ts";
import { HpackDecoder } from "../hpack/hpack-decoder.ts";
import { HpackEncoder } from "../hpack/hpack-encoder.ts";
import { requestFault, trailersFault } from "./validate-request.ts";

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 16_384, tableUpdatesMax: 2 };

type Line = readonly [name: string, value: string];

const SOUND: readonly Line[] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/package.Service/Method"],
  [":authority", "127.0.0.1:8081"],
  ["te", "trailers"],
  ["content-type", "application/grpc"],
];

/** The sound list with the value of one of its fields replaced. */
function replaced(name: string, value: string): readonly Line[] {
  return SOUND.map((line) => (line[0] === name ? [name, value] : line));
}

/** The sound list without a field. */
function without(name: string): readonly Line[] {
  return SOUND.filter((line) => line[0] !== name);
}

function decode(lines: readonly Line[]): FieldList {
  const encoder = new HpackEncoder();
  const target = Buffer.alloc(32_768);
  let end = 0;
  for (const [name, value] of lines) end = encoder.field(target, end, name, value);
  const fields = new FieldList(LIMITS);
  expect(new HpackDecoder(LIMITS).decode(target, 0, end, fields)).toBe("ok");
  return fields;
}

describe("requestFault()", () => {
  it.each<{ name: string; lines: readonly Line[] }>([
    { name: "a call of gRPC", lines: SOUND },
    { name: "headers of every token character", lines: [...SOUND, ["!#$%&'*+-.^_`|~09az", "1"]] },
    { name: "an empty value", lines: [...SOUND, ["x", ""]] },
    { name: "a tab and a space inside a value", lines: [...SOUND, ["x", "a\t b"]] },
    { name: "octets above 127 in a value", lines: [...SOUND, ["x", "\u0080\u00ff"]] },
    { name: "the first and the last visible character", lines: [...SOUND, ["x", "!~"]] },
    { name: "a repeated header", lines: [...SOUND, ["x", "1"], ["x", "2"]] },
    { name: "no :authority", lines: without(":authority") },
    { name: "host that is :authority in capitals", lines: [...replaced(":authority", "a.B:1"), ["host", "A.b:1"]] },
    { name: "host instead of :authority", lines: [...without(":authority"), ["host", "a"]] },
    { name: "content-length of 15 digits", lines: [...SOUND, ["content-length", "999999999999999"]] },
    { name: "a path with a query", lines: replaced(":path", "/a?b=c%20d") },
    { name: "a method of our own", lines: replaced(":method", "M-search_1") },
    { name: "a scheme of our own", lines: replaced(":scheme", "a+b-c.1") },
    {
      name: "OPTIONS of *",
      lines: [
        [":method", "OPTIONS"],
        [":scheme", "http"],
        [":path", "*"],
      ],
    },
    {
      name: "CONNECT",
      lines: [
        [":method", "CONNECT"],
        [":authority", "a:1"],
      ],
    },
  ])("accepts $name", ({ lines }) => {
    expect(requestFault(decode(lines))).toBeUndefined();
  });

  const illegalNames = [
    "",
    "X",
    "grpc-Timeout",
    "a b",
    " a",
    "a ",
    "a:",
    "a\0",
    "a\r",
    "a\n",
    "a\t",
    "a\x7f",
    "a\u0080",
    "é",
  ];
  for (const sign of '"(),/;<=>?@[\\]{}') illegalNames.push(`a${sign}b`);
  it.each(illegalNames.map((name) => ({ name })))("refuses the name $name", ({ name }) => {
    expect(requestFault(decode([...SOUND, [name, "1"]]))).toBe("an illegal name");
  });

  const illegalValues = ["\0", "a\0b", "a\rb", "a\nb", "\x01", "a\x1f", "a\x7f", " a", "a ", "\ta", "a\t", " ", "\t"];
  it.each(illegalValues.map((value) => ({ value })))("refuses the value $value", ({ value }) => {
    expect(requestFault(decode([...SOUND, ["x", value]]))).toBe("an illegal octet in a value");
  });

  it.each<{ name: string; lines: readonly Line[]; fault: string }>([
    { name: "an empty list", lines: [], fault: "a missing pseudo-header" },
    { name: "no :method", lines: without(":method"), fault: "a missing pseudo-header" },
    { name: "no :scheme", lines: without(":scheme"), fault: "a missing pseudo-header" },
    { name: "no :path", lines: without(":path"), fault: "a missing pseudo-header" },
    { name: "an empty :method", lines: replaced(":method", ""), fault: "an invalid :method" },
    { name: "a :method with a space", lines: replaced(":method", "PO ST"), fault: "an invalid :method" },
    { name: "an empty :scheme", lines: replaced(":scheme", ""), fault: "an invalid :scheme" },
    { name: "a :scheme that begins with a digit", lines: replaced(":scheme", "1a"), fault: "an invalid :scheme" },
    { name: "a :scheme with a colon", lines: replaced(":scheme", "http:"), fault: "an invalid :scheme" },
    { name: "an empty :path", lines: replaced(":path", ""), fault: "an invalid :path" },
    { name: "a :path without a slash", lines: replaced(":path", "a/b"), fault: "an invalid :path" },
    { name: "a :path with a space", lines: replaced(":path", "/a b"), fault: "an invalid :path" },
    { name: "a :path with an octet above 127", lines: replaced(":path", "/\u00e9"), fault: "an invalid :path" },
    { name: "POST of *", lines: replaced(":path", "*"), fault: "an invalid :path" },
    { name: "a user in :authority", lines: replaced(":authority", "me@host"), fault: "an invalid :authority" },
    { name: "a space in :authority", lines: replaced(":authority", "a b"), fault: "an invalid :authority" },
    { name: "a repeated :method", lines: [SOUND[0]!, ...SOUND], fault: "a field that is repeated" },
    { name: "a repeated :scheme", lines: [SOUND[1]!, ...SOUND], fault: "a field that is repeated" },
    { name: "a repeated :path", lines: [SOUND[2]!, ...SOUND], fault: "a field that is repeated" },
    { name: "a repeated :authority", lines: [SOUND[3]!, ...SOUND], fault: "a field that is repeated" },
    { name: ":status", lines: [[":status", "200"], ...SOUND], fault: "an unknown pseudo-header" },
    { name: ":protocol", lines: [[":protocol", "websocket"], ...SOUND], fault: "an unknown pseudo-header" },
    { name: "a colon alone", lines: [[":", "1"], ...SOUND], fault: "an unknown pseudo-header" },
    { name: ":Method", lines: [[":Method", "GET"], ...SOUND], fault: "an unknown pseudo-header" },
    { name: ":path after te", lines: [...without(":path"), [":path", "/"]], fault: "a pseudo-header after a header" },
    { name: ":test at the end", lines: [...SOUND, [":test", "1"]], fault: "a pseudo-header after a header" },
    { name: "connection", lines: [...SOUND, ["connection", "close"]], fault: "a field of the connection" },
    { name: "keep-alive", lines: [...SOUND, ["keep-alive", "1"]], fault: "a field of the connection" },
    { name: "proxy-connection", lines: [...SOUND, ["proxy-connection", "close"]], fault: "a field of the connection" },
    { name: "transfer-encoding", lines: [...SOUND, ["transfer-encoding", "x"]], fault: "a field of the connection" },
    { name: "upgrade", lines: [...SOUND, ["upgrade", "h2c"]], fault: "a field of the connection" },
    { name: "te: gzip", lines: [...without("te"), ["te", "gzip"]], fault: 'te other than "trailers"' },
    { name: "te: trailers, gzip", lines: [...SOUND, ["te", "trailers, gzip"]], fault: 'te other than "trailers"' },
    { name: "an empty content-length", lines: [...SOUND, ["content-length", ""]], fault: "an invalid content-length" },
    { name: "content-length: +1", lines: [...SOUND, ["content-length", "+1"]], fault: "an invalid content-length" },
    { name: "content-length: 1, 1", lines: [...SOUND, ["content-length", "1, 1"]], fault: "an invalid content-length" },
    {
      name: "content-length of 16 digits",
      lines: [...SOUND, ["content-length", "1".repeat(16)]],
      fault: "an invalid content-length",
    },
    {
      name: "a repeated content-length",
      lines: [...SOUND, ["content-length", "1"], ["content-length", "1"]],
      fault: "a field that is repeated",
    },
    { name: "another host", lines: [...SOUND, ["host", "other"]], fault: "host other than :authority" },
    {
      name: "CONNECT with a path",
      lines: replaced(":method", "CONNECT"),
      fault: "CONNECT with :scheme or :path",
    },
    { name: "CONNECT without :authority", lines: [[":method", "CONNECT"]], fault: "a missing pseudo-header" },
    {
      name: "CONNECT with :scheme",
      lines: [
        [":method", "CONNECT"],
        [":authority", "a"],
        [":scheme", "http"],
      ],
      fault: "a missing pseudo-header",
    },
  ])("refuses $name", ({ lines, fault }) => {
    expect(requestFault(decode(lines))).toBe(fault);
  });
});

describe("trailersFault()", () => {
  it.each<{ name: string; lines: readonly Line[]; fault: string | undefined }>([
    { name: "no field", lines: [], fault: undefined },
    { name: "a field", lines: [["x-checksum", "1"]], fault: undefined },
    { name: "a pseudo-header", lines: [[":method", "POST"]], fault: "a pseudo-header in trailers" },
    { name: "an unknown pseudo-header", lines: [[":x", ""]], fault: "a pseudo-header in trailers" },
    { name: "a name with a space", lines: [["a b", ""]], fault: "an illegal name" },
    { name: "a value with NUL", lines: [["a", "\0"]], fault: "an illegal octet in a value" },
    { name: "connection", lines: [["connection", "close"]], fault: "a field of the connection" },
  ])("of $name: $fault", ({ lines, fault }) => {
    expect(trailersFault(decode(lines))).toBe(fault);
  });
});
