import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hpackInteger, hpackString } from "@weir/harness/http2/http2-frames";
import { huffman, huffmanOctets, indexed, literal, type LiteralKind, tableUpdate } from "./block-writer.suite.ts";
import { FieldList } from "./field-list.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { EOS } from "./huffman-code.ts";

const LIMITS = { tableMaxBytes: 4096, listMaxBytes: 16_384, tableUpdatesMax: 2 };

function linesOf(fields: FieldList): string[] {
  return Array.from({ length: fields.count }, (_, at) => `${fields.name(at)}: ${fields.value(at)}`);
}

/** Decodes blocks on one connection; the results and the lines of the last one. */
function decode(blocks: readonly Buffer[], limits = LIMITS): { results: string[]; lines: string[]; fault: string } {
  const decoder = new HpackDecoder(limits);
  const fields = new FieldList(limits);
  // In the middle of a buffer, so that reading beyond the block's end shows.
  const results = blocks.map((block) => {
    const buffer = Buffer.concat([Buffer.from([0x82]), block, Buffer.from([0x82, 0x82])]);
    return decoder.decode(buffer, 1, 1 + block.length, fields);
  });
  return { results, lines: linesOf(fields), fault: decoder.fault };
}

/** A string of one octet in Huffman code, with these octets instead of its own. */
function huffmanOf(octets: readonly number[]): Buffer {
  return Buffer.concat([hpackInteger(0x80, 7, octets.length), Buffer.from(octets)]);
}

describe("HpackDecoder", () => {
  it("decodes an empty block", () => {
    expect(decode([Buffer.alloc(0)])).toMatchObject({ results: ["ok"], lines: [] });
  });

  it("decodes every octet in a name and a value, hpackString and in Huffman code", () => {
    const every = String.fromCharCode(...Array.from({ length: 256 }, (_, octet) => octet));
    for (const string of [hpackString(every), huffman(every)])
      expect(decode([literal("not inserted", string, string)])).toMatchObject({
        results: ["ok"],
        lines: [`${every}: ${every}`],
      });
  });

  it("decodes a value of each length from 0 to 300", () => {
    for (let length = 0; length <= 300; length++) {
      const value = "0Z".repeat(150).slice(0, length);
      for (const string of [hpackString(value), huffman(value)])
        expect(decode([literal("inserted", 1, string), indexed(62)]).lines).toEqual([`:authority: ${value}`]);
    }
  });

  const string = "a string beyond the block's end";
  const badInteger = "an integer that is cut off or too large";
  const badHuffman = "a string with invalid Huffman code";
  const noEntry = "an index without an entry";
  it.each([
    { name: "the index 0", block: [0x80], fault: noEntry },
    { name: "the index 62 of an empty table", block: [0xbe], fault: noEntry },
    { name: "a name with the index 62 of an empty table", block: [0x7e, 0], fault: noEntry },
    { name: "an index of 2^31 − 1", block: [0xff, 0x80, 0xff, 0xff, 0xff, 0x07], fault: noEntry },
    { name: "an index of 2^31", block: [0xff, 0x81, 0xff, 0xff, 0xff, 0x07], fault: badInteger },
    { name: "an index of 2^42", block: [0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], fault: badInteger },
    { name: "an index of 2 in 7 octets", block: [0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], fault: badInteger },
    { name: "an index that is cut off", block: [0xff, 0x80], fault: badInteger },
    { name: "a literal without its name", block: [0x40], fault: badInteger },
    { name: "a literal without its value", block: [0x41], fault: badInteger },
    { name: "a name that is cut off", block: [0x40, 2, 0x61], fault: string },
    { name: "a value that is cut off", block: [0x41, 2, 0x61], fault: string },
    { name: "a value of 2^31 − 1 octets", block: [0x41, 0x7f, 0x80, 0xff, 0xff, 0xff, 0x07], fault: string },
    {
      name: "a change of size after a field",
      block: [0x82, 0x20],
      fault: "a change of the table's size after a field",
    },
    { name: "a third change of size", block: [0x20, 0x20, 0x20], fault: "too many changes of the table's size" },
    {
      name: "a size of 4,097",
      block: [...tableUpdate(4097)],
      fault: "a table larger than SETTINGS_HEADER_TABLE_SIZE",
    },
    { name: "padding of 8 ones", block: [0x41, ...huffmanOf([0b00111_111, 0xff])], fault: badHuffman },
    { name: "padding of an octet of ones", block: [0x41, ...huffmanOf([0xff])], fault: badHuffman },
    { name: "padding with a zero", block: [0x41, ...huffmanOf([0b00011_110])], fault: badHuffman },
    { name: "EOS", block: [0x41, ...huffmanOf([...huffmanOctets([EOS])])], fault: badHuffman },
    {
      name: "EOS in the middle",
      block: [0x41, ...huffmanOf([...huffmanOctets([0x61, EOS, 0x61])])],
      fault: badHuffman,
    },
    { name: "a name with EOS", block: [0x40, ...huffmanOf([...huffmanOctets([EOS])]), 0], fault: badHuffman },
    { name: "a symbol that is cut off", block: [0x00, 1, 0x61, ...huffmanOf([0xff, 0xc0])], fault: badHuffman },
  ])("refuses $name", ({ block, fault }) => {
    expect(decode([Buffer.from(block)])).toEqual({ results: ["broken"], lines: [], fault });
  });

  it.each([
    {
      name: "7 ones of padding",
      block: [0x41, ...huffmanOf([...huffmanOctets([0x30, 0x62, 0x62])])],
      lines: [":authority: 0bb"],
    },
    {
      name: "an integer with zeros behind it",
      block: [0x82, 0x0f, 0x80, 0x80, 0x80, 0x00, 0],
      lines: [":method: GET", "accept-charset: "],
    },
    { name: "two changes of size", block: [0x20, ...tableUpdate(4096), 0x82], lines: [":method: GET"] },
    { name: "an empty Huffman string", block: [0x01, 0x80], lines: [":authority: "] },
  ])("accepts $name", ({ block, lines }) => {
    expect(decode([Buffer.from(block)])).toMatchObject({ results: ["ok"], lines });
  });

  it("empties the table by an entry that is larger than it, as a field and as an entry", () => {
    const large = "v".repeat(4096 - 32 - 1 + 1);
    const blocks = [
      literal("inserted", hpackString("x"), hpackString("1")),
      literal("inserted", hpackString("n"), huffman(large)),
    ];
    expect(decode(blocks)).toMatchObject({ results: ["ok", "ok"], lines: [`n: ${large}`] });
    expect(decode([...blocks, indexed(62)]).results).toEqual(["ok", "ok", "broken"]);
    const fitting = [blocks[0]!, literal("inserted", hpackString("n"), huffman(large.slice(1)))];
    expect(decode([...fitting, indexed(62)]).lines).toEqual([`n: ${large.slice(1)}`]);
    expect(decode([...fitting, indexed(63)]).results).toEqual(["ok", "ok", "broken"]);
  });

  it("takes the name from an entry that the new one replaces", () => {
    const name = "n".repeat(2000);
    const blocks = [
      literal("inserted", hpackString(name), hpackString("1")),
      literal("inserted", 62, hpackString("2".repeat(2000))),
      indexed(62),
    ];
    expect(decode(blocks).lines).toEqual([`${name}: ${"2".repeat(2000)}`]);
  });

  it("counts 32 bytes for each field of a list, and stays in step when one is too large", () => {
    const limits = { ...LIMITS, listMaxBytes: 100 };
    const entry = literal("inserted", hpackString("ab"), hpackString("c"));
    expect(
      decode([Buffer.concat([entry, literal("not inserted", hpackString("ab"), hpackString("c".repeat(31)))])], limits),
    ).toMatchObject({ results: ["ok"] });
    const larger = Buffer.concat([entry, literal("not inserted", hpackString("ab"), hpackString("c".repeat(32)))]);
    expect(decode([larger], limits)).toMatchObject({ results: ["too large"], lines: [] });
    expect(decode([larger, indexed(62)], limits).lines).toEqual(["ab: c"]);
    expect(decode([Buffer.concat([entry, indexed(62), indexed(62)]), indexed(62)], limits)).toMatchObject({
      results: ["too large", "ok"],
      lines: ["ab: c"],
    });
  });

  it("checks what it skips of a list that is too large", () => {
    const limits = { ...LIMITS, listMaxBytes: 100 };
    const long = literal("not inserted", hpackString("n".repeat(9000)), hpackString("v"));
    expect(decode([long], limits).results).toEqual(["too large"]);
    const broken = [
      literal("not inserted", 1, huffmanOf([0xff])),
      literal("inserted", 1, huffmanOf([0xff])),
      indexed(99),
    ];
    for (const each of broken) expect(decode([Buffer.concat([long, each])], limits).results).toEqual(["broken"]);
    const unreadable = huffmanOf([...huffmanOctets(Array.from({ length: 9000 }, () => 0x61)), 0xff]);
    expect(decode([literal("not inserted", unreadable, hpackString(""))], limits).results).toEqual(["broken"]);
    expect(decode([literal("inserted", 1, unreadable)], limits).results).toEqual(["broken"]);
  });
});

/** One representation, by what a random number of entries makes of it. */
interface Step {
  readonly kind: "indexed" | LiteralKind;
  /** Chooses among the entries that there are; names of literals are new every third time. */
  readonly index: number;
  readonly name: string;
  readonly value: string;
  readonly isHuffman: boolean;
}

const TEXT = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "binary-ascii", maxLength: 12 }) },
  { weight: 2, arbitrary: fc.stringMatching(/^[a-z]{20,90}$/) },
  { weight: 1, arbitrary: fc.stringMatching(/^[\u0080-\u00ff]{150,300}$/) },
);
const STEP: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("indexed", "indexed", "inserted", "inserted", "not inserted", "never indexed"),
  index: fc.nat(10_000),
  name: TEXT,
  value: TEXT,
  isHuffman: fc.boolean(),
});
const BLOCK = fc.record({
  updates: fc.oneof(
    { weight: 8, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(fc.nat(300), { maxLength: 2 }) },
  ),
  steps: fc.array(STEP, { maxLength: 30 }),
});

/** The tables as RFC 7541, 2.3 and 4 describe them, newest entry first. */
class ReferenceTable {
  entries: (readonly [name: string, value: string])[] = [];
  maxBytes: number;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get sizeBytes(): number {
    return this.entries.reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
  }

  resize(maxBytes: number): void {
    this.maxBytes = maxBytes;
    while (this.sizeBytes > maxBytes) this.entries.pop();
  }

  insert(name: string, value: string): void {
    this.entries.unshift([name, value]);
    while (this.sizeBytes > this.maxBytes) this.entries.pop();
  }
}

describe("HpackDecoder against a reference model", () => {
  it.each([
    { tableMaxBytes: 300, listMaxBytes: 100_000, seed: 1 },
    { tableMaxBytes: 300, listMaxBytes: 700, seed: 2 },
    { tableMaxBytes: 64, listMaxBytes: 100_000, seed: 3 },
    { tableMaxBytes: 31, listMaxBytes: 500, seed: 4 },
    { tableMaxBytes: 4096, listMaxBytes: 3000, seed: 5 },
  ])("decodes 1,000 random blocks, table of $tableMaxBytes and list of $listMaxBytes bytes", ({ seed, ...bounds }) => {
    const limits = { ...bounds, tableUpdatesMax: 2 };
    const decoder = new HpackDecoder(limits);
    const fields = new FieldList(limits);
    const reference = new ReferenceTable(limits.tableMaxBytes);
    const counts = { ok: 0, "too large": 0 };
    for (const { updates, steps } of fc.sample(BLOCK, { numRuns: 1000, seed })) {
      const parts: Buffer[] = [];
      const lines: string[] = [];
      let listBytes = 0;
      for (const update of updates) {
        const bytes = update % (limits.tableMaxBytes + 1);
        parts.push(tableUpdate(bytes));
        reference.resize(bytes);
      }
      for (const { kind, index, name, value, isHuffman } of steps) {
        const entryAt = reference.entries.length === 0 ? -1 : index % reference.entries.length;
        const entry = reference.entries[entryAt];
        const text = isHuffman ? huffman : hpackString;
        const add = (line: readonly [string, string]): void => {
          lines.push(`${line[0]}: ${line[1]}`);
          listBytes += line[0].length + line[1].length + 32;
        };
        if (kind === "indexed") {
          parts.push(indexed(entry === undefined ? 2 : 62 + entryAt));
          add(entry ?? [":method", "GET"]);
          continue;
        }
        const usedName = entry !== undefined && index % 3 > 0 ? entry[0] : name;
        parts.push(literal(kind, usedName === entry?.[0] ? 62 + entryAt : text(usedName), text(value)));
        add([usedName, value]);
        if (kind === "inserted") reference.insert(usedName, value);
      }
      const block = Buffer.concat(parts);
      const result = decoder.decode(block, 0, block.length, fields);
      const expected = listBytes <= limits.listMaxBytes ? "ok" : "too large";
      expect(result).toBe(expected);
      expect(linesOf(fields)).toEqual(expected === "ok" ? lines : []);
      expect(decoder.tableBytes).toBe(reference.sizeBytes);
      counts[expected]++;
    }
    expect(counts.ok).toBeGreaterThan(100);
  });
});
