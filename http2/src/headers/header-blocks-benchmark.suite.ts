// Measures what a header block of nghttp2 costs: decoded alone, and decoded, validated and read.
import type { OutgoingHttpHeaders } from "node:http2";

import { FieldList } from "../hpack/field-list.ts";
import { HpackDecoder } from "../hpack/hpack-decoder.ts";
import { Nghttp2Peer } from "@weir/harness/http2/nghttp2-peer";
import { HeaderBlocks } from "./header-blocks.ts";

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 16_384, tableUpdatesMax: 2 };

/** Blocks that follow each other on a connection; how often they are decoded in each round. */
const BLOCKS = 1000;
const REPEATS = 50;
const ROUNDS = 15;

const HEADERS: OutgoingHttpHeaders = {
  ":method": "GET",
  ":path": "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
  te: "trailers",
  "content-type": "application/grpc",
  "x-envoy-internal": "true",
  "x-forwarded-for": "10.0.0.17",
  "grpc-timeout": "20m",
};

/** Hexadecimal digits that look random, the same in every run. */
function hexOf(seed: number, digits: number): string {
  let state = seed + 1;
  let text = "";
  while (text.length < digits) {
    state = Math.imul(state, 0x5bd1e995) ^ (state >>> 15);
    text += (state >>> 0).toString(16).padStart(8, "0");
  }
  return text.slice(0, digits);
}

/** The blocks that nghttp2 sends for these requests, one after the other on one connection. */
async function record(headersOf: (at: number) => OutgoingHttpHeaders): Promise<readonly Buffer[]> {
  const blocks: Buffer[] = [];
  const { promise: isRecorded, resolve } = Promise.withResolvers<void>();
  const onBlock = (block: Buffer): void => {
    if (blocks.push(block) === BLOCKS) resolve();
  };
  const nothing = { answer: () => [], onTableBytes: () => undefined };
  const peer = await Nghttp2Peer.open({ tableBytes: LIMITS.tableMaxBytes, onBlock, ...nothing });
  for (let at = 0; at < BLOCKS; at++) peer.session.request(headersOf(at)).on("error", () => undefined); // Reset.
  await isRecorded;
  peer.close();
  return blocks;
}

/** Nanoseconds per block: the least over repeats, which what else the machine does hardly moves. */
function measure(blocks: readonly Buffer[], begin: () => (block: Buffer) => boolean): number {
  const nanoseconds = Array.from({ length: REPEATS }, () => {
    const isRead = begin();
    const began = process.hrtime.bigint();
    for (const block of blocks) if (!isRead(block)) throw new Error("A block is not sound");
    return Number(process.hrtime.bigint() - began) / blocks.length;
  });
  return Math.min(...nanoseconds);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

if (import.meta.main) {
  const cases = [
    { name: "indexed fields", blocks: await record(() => ({ ...HEADERS, ":path": "/" })), barNs: 200 },
    { name: "indexed fields, and a path that is not", blocks: await record(() => HEADERS), barNs: 400 },
    {
      name: "fresh traceparent and x-request-id",
      blocks: await record((at) => ({
        ...HEADERS,
        traceparent: `00-${hexOf(at, 32)}-${hexOf(at + BLOCKS, 16)}-01`,
        "x-request-id": hexOf(at, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
      })),
      barNs: 800,
    },
  ];
  const fields = new FieldList(LIMITS);
  const decode = (): ((block: Buffer) => boolean) => {
    const decoder = new HpackDecoder(LIMITS);
    return (block) => decoder.decode(block, 0, block.length, fields) === "ok";
  };
  const read = (): ((block: Buffer) => boolean) => {
    const blocks = new HeaderBlocks(LIMITS, fields);
    return (block) => blocks.request(block, 0, block.length).kind === "head";
  };
  for (let round = 0; round < ROUNDS; round++) for (const { blocks } of cases) measure(blocks, decode);
  for (const { name, blocks, barNs } of cases) {
    const rounds = Array.from({ length: ROUNDS }, () => ({
      decode: measure(blocks, decode),
      read: measure(blocks, read),
    }));
    const decodeNs = medianOf(rounds.map((each) => each.decode));
    const readNs = medianOf(rounds.map((each) => each.read));
    process.stdout.write(
      `${name}, ${blocks.at(-1)?.length ?? 0} bytes: decoded in ${decodeNs.toFixed(0)} ns ` +
        `(bar ${barNs}: ${decodeNs <= barNs ? "PASS" : "MISS"}), head in ${readNs.toFixed(0)} ns\n`,
    );
  }
}
