// Tests of the table of streams and of what waits in it.
import { describe, expect, it } from "vitest";

import type { RequestHead } from "../headers/request-head.ts";
import { Stream, type StreamOwner } from "./stream.ts";
import { StreamTable } from "./stream-table.ts";

const OWNER = {} as StreamOwner;
const HEAD = { contentLength: undefined } as RequestHead;

function createTable() {
  const held: number[] = [];
  const table = new StreamTable((stream) => void held.push(stream.id));
  const add = (id: number) => {
    const stream = new Stream(id, HEAD, OWNER, 65_535);
    table.add(stream);
    return stream;
  };
  return { table, held, add };
}

describe("StreamTable", () => {
  it("holds a stream only when it outlives the next one, or the read", () => {
    const { table, held, add } = createTable();
    table.remove(add(1));
    const third = add(3);
    add(5);
    expect(held).toEqual([3]);
    table.hold();
    table.hold();
    expect(held).toEqual([3, 5]);
    table.remove(third);
    expect([table.find(1), table.find(3), table.find(5)?.id]).toEqual([undefined, undefined, 5]);
    expect(table.size).toBe(1);
  });

  it("lists the open streams, the latest included", () => {
    const { table, add } = createTable();
    for (const id of [1, 3, 5]) add(id);
    expect(Array.from(table, ({ id }) => id).sort()).toEqual([1, 3, 5]);
    for (const stream of table) table.remove(stream);
    expect(table.size).toBe(0);
  });

  it("accepts odd identifiers in ascending order, and remembers which were left out", () => {
    const { table } = createTable();
    expect([table.accept(0), table.accept(2), table.accept(5), table.accept(3), table.accept(5)]).toEqual([
      false,
      false,
      true,
      false,
      false,
    ]);
    expect(table.lastId).toBe(5);
    expect([table.closed.find(1), table.closed.find(3), table.closed.find(5)]).toEqual(["skipped", "skipped", "ended"]);
    expect(table.accept(7)).toBe(true);
    expect(table.closed.find(7)).toBe("ended");
  });
});
