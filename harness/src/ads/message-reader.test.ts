import { expect, it } from "vitest";

import { grpcMessage } from "../http2/http2-frames.ts";
import { createMessageReader } from "./message-reader.ts";

it.each([1, 2, 4, 5, 6, 7, 16_384, 1_000_000])(
  "createMessageReader() returns every message whole when bytes come %i at a time",
  (step) => {
    const messages = [Buffer.alloc(70_000, 1), Buffer.alloc(0), Buffer.from("last")];
    const bytes = Buffer.concat(messages.map((message) => grpcMessage(message)));
    const seen: Buffer[] = [];
    const read = createMessageReader((message) => seen.push(message));
    for (let at = 0; at < bytes.length - 1; at += step) read(bytes.subarray(at, Math.min(at + step, bytes.length - 1)));
    expect(seen).toHaveLength(2);
    read(bytes.subarray(-1));
    expect(seen.map((message) => message.toString())).toEqual(messages.map((message) => message.toString()));
  },
);
