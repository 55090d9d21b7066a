import fc from "fast-check";
import { sensitiveHeaders } from "node:http2";
import { describe, expect, it } from "vitest";
import { FieldList } from "./field-list.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { HpackEncoder } from "./hpack-encoder.ts";
import { Nghttp2Peer, type WriteBlock } from "@weir/harness/http2/nghttp2-peer";

const LISTS = 1500;

/** A header: its name, its values, and whether it is never to be indexed. */
interface Header {
  readonly name: string;
  readonly values: readonly string[];
  readonly isSensitive: boolean;
}

/** Few names, so that entries are found again; values short and long, so that entries are evicted. */
const NAME = fc.oneof(
  fc.constantFrom("x-request-id", "traceparent", "cookie", "via", "a", "grpc-timeout", "x-long-name-of-a-header"),
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9a-z-]{1,20}$/).map((name) => `x-${name}`),
);
const VALUE = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", "0", "1", "trailers", "gzip, deflate", "application/grpc") },
  { weight: 4, arbitrary: fc.stringMatching(/^[0-9a-f]{32}$/) },
  { weight: 3, arbitrary: fc.stringMatching(/^([!-~]([ -~]{0,40}[!-~])?)?$/) },
  { weight: 1, arbitrary: fc.stringMatching(/^[!-~]{200,1500}$/) },
  // Latin-1, as node:http2 sends it.
  { weight: 1, arbitrary: fc.stringMatching(/^[\u00a1-\u00ff]{1,30}$/) },
);
const HEADER: fc.Arbitrary<Header> = fc.record({
  name: NAME,
  values: fc.array(VALUE, { minLength: 1, maxLength: 2 }),
  isSensitive: fc.boolean(),
});
const LIST = fc.uniqueArray(HEADER, { maxLength: 12, selector: ({ name }) => name });

/** An answer of the server, and the size that the client's table is set to before it. */
const ANSWER = fc.record({
  kind: fc.constantFrom("ok", "error", "trailers only"),
  status: fc.constantFrom(200, 404, 415, 503),
  message: fc.stringMatching(/^[!-~]{0,300}$/),
  clientTableBytes: fc.option(fc.constantFrom(0, 1, 103, 104, 200, 4095, 4096, 65_536), { nil: undefined, freq: 4 }),
});

function samplesOf<T>(arbitrary: fc.Arbitrary<T>, seed: number): T[] {
  return fc.sample(arbitrary, { numRuns: LISTS, seed });
}

/** The fields of a request, in the order in which node:http2 sends them. */
function linesOf(path: string, list: readonly Header[]): string[] {
  return [
    ":method: POST",
    `:path: ${path}`,
    ":authority: memory:80",
    ":scheme: http",
    ...list.flatMap(({ name, values }) => values.map((value) => `${name}: ${value}`)),
  ];
}

describe("HpackDecoder and HpackEncoder against nghttp2", () => {
  it.each([
    { tableBytes: 4096, seed: 1 },
    { tableBytes: 256, seed: 2 },
    { tableBytes: 0, seed: 3 },
    { tableBytes: 16_384, seed: 4 },
  ])(
    `read and answer ${LISTS} random lists on one connection, table of $tableBytes bytes`,
    async ({ tableBytes, seed }) => {
      const limits = { tableMaxBytes: tableBytes, listMaxBytes: 65_536, tableUpdatesMax: 2 };
      const decoder = new HpackDecoder(limits);
      const encoder = new HpackEncoder();
      const fields = new FieldList(limits);
      const results: { result: string; lines: string[] }[] = [];
      let answer: readonly WriteBlock[] = [];
      let tableBytesRead: (() => void) | undefined;
      const peer = await Nghttp2Peer.open({
        tableBytes,
        onBlock: (block) => {
          const result = decoder.decode(block, 0, block.length, fields);
          const lines = Array.from({ length: fields.count }, (_, at) => `${fields.name(at)}: ${fields.value(at)}`);
          results.push({ result, lines });
        },
        answer: () => answer,
        onTableBytes: (bytes) => {
          encoder.setTableMaxBytes(bytes);
          tableBytesRead?.();
        },
      });
      const answers = samplesOf(ANSWER, seed);
      for (const [at, list] of samplesOf(LIST, seed).entries()) {
        const { kind, status, message, clientTableBytes } = answers[at]!;
        if (clientTableBytes !== undefined) {
          const isRead = new Promise<void>((resolve) => (tableBytesRead = resolve));
          peer.session.settings({ headerTableSize: clientTableBytes });
          await isRead;
        }
        const error: WriteBlock = (target, offset) => {
          const end = encoder.field(target, encoder.begin(target, offset), "grpc-status", "5");
          return encoder.field(target, end, "grpc-message", message);
        };
        const headers: WriteBlock = (target, offset) => encoder.responseHeaders(target, offset);
        const trailersOnly: WriteBlock = (target, offset) => {
          const end = encoder.grpcContentType(target, encoder.status(target, encoder.begin(target, offset), status));
          return encoder.field(target, end, "grpc-message", message);
        };
        if (kind === "ok") answer = [headers, (target, offset) => encoder.okTrailers(target, offset)];
        else answer = kind === "error" ? [headers, error] : [trailersOnly];
        const path = `/service/${at % 7}`;
        const received = await peer.request({
          ":method": "POST",
          ":path": path,
          ...Object.fromEntries(list.map(({ name, values }) => [name, values.length === 1 ? values[0]! : [...values]])),
          [sensitiveHeaders]: list.filter(({ isSensitive }) => isSensitive).map(({ name }) => name),
        });
        expect(results.pop()).toEqual({ result: "ok", lines: linesOf(path, list) });
        expect(received.headers).toMatchObject({
          ":status": kind === "trailers only" ? status : 200,
          "content-type": "application/grpc",
        });
        if (kind === "ok") expect(received.trailers).toEqual(expect.objectContaining({ "grpc-status": "0" }));
        if (kind === "error") expect(received.trailers).toMatchObject({ "grpc-status": "5", "grpc-message": message });
        if (kind === "trailers only") expect(received.headers).toMatchObject({ "grpc-message": message });
      }
      peer.close();
    },
  );
});
