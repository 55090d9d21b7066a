import { describe, expect, it } from "vitest";
import { FieldList } from "./field-list.ts";
import { HpackDecoder } from "./hpack-decoder.ts";
import { IntegerReader } from "./integer-reader.ts";

const LIST_MAX_BYTES = 16_384;

interface Block {
  readonly hex: string;
  readonly fields: readonly string[];
  /** Size of the dynamic table afterwards. */
  readonly tableBytes: number;
}

/** Requests of C.3 and C.4. */
const REQUESTS = [
  {
    fields: [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"],
    tableBytes: 57,
  },
  {
    fields: [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com", "cache-control: no-cache"],
    tableBytes: 110,
  },
  {
    fields: [
      ":method: GET",
      ":scheme: https",
      ":path: /index.html",
      ":authority: www.example.com",
      "custom-key: custom-value",
    ],
    tableBytes: 164,
  },
] as const;

/** Responses of C.5 and C.6. */
const RESPONSES = [
  {
    fields: [
      ":status: 302",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:21 GMT",
      "location: https://www.example.com",
    ],
    tableBytes: 222,
  },
  {
    fields: [
      ":status: 307",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:21 GMT",
      "location: https://www.example.com",
    ],
    tableBytes: 222,
  },
  {
    fields: [
      ":status: 200",
      "cache-control: private",
      "date: Mon, 21 Oct 2013 20:13:22 GMT",
      "location: https://www.example.com",
      "content-encoding: gzip",
      "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ],
    tableBytes: 215,
  },
] as const;

const EXAMPLES: readonly {
  readonly name: string;
  readonly tableMaxBytes: number;
  readonly blocks: readonly Block[];
}[] = [
  {
    name: "C.2.1, a literal that is inserted",
    tableMaxBytes: 4096,
    blocks: [
      {
        hex: "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        fields: ["custom-key: custom-header"],
        tableBytes: 55,
      },
    ],
  },
  {
    name: "C.2.2, a literal that is not inserted",
    tableMaxBytes: 4096,
    blocks: [{ hex: "040c 2f73 616d 706c 652f 7061 7468", fields: [":path: /sample/path"], tableBytes: 0 }],
  },
  {
    name: "C.2.3, a literal that is never indexed",
    tableMaxBytes: 4096,
    blocks: [{ hex: "1008 7061 7373 776f 7264 0673 6563 7265 74", fields: ["password: secret"], tableBytes: 0 }],
  },
  {
    name: "C.2.4, an indexed field",
    tableMaxBytes: 4096,
    blocks: [{ hex: "82", fields: [":method: GET"], tableBytes: 0 }],
  },
  {
    name: "C.3, requests without Huffman code",
    tableMaxBytes: 4096,
    blocks: [
      { hex: "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", ...REQUESTS[0] },
      { hex: "8286 84be 5808 6e6f 2d63 6163 6865", ...REQUESTS[1] },
      { hex: "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", ...REQUESTS[2] },
    ],
  },
  {
    name: "C.4, requests with Huffman code",
    tableMaxBytes: 4096,
    blocks: [
      { hex: "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", ...REQUESTS[0] },
      { hex: "8286 84be 5886 a8eb 1064 9cbf", ...REQUESTS[1] },
      { hex: "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", ...REQUESTS[2] },
    ],
  },
  {
    name: "C.5, responses without Huffman code, with evictions",
    tableMaxBytes: 256,
    blocks: [
      {
        hex:
          "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 " +
          "3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        ...RESPONSES[0],
      },
      { hex: "4803 3330 37c1 c0bf", ...RESPONSES[1] },
      {
        hex:
          "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 " +
          "7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 " +
          "6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        ...RESPONSES[2],
      },
    ],
  },
  {
    name: "C.6, responses with Huffman code, with evictions",
    tableMaxBytes: 256,
    blocks: [
      {
        hex:
          "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad " +
          "1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        ...RESPONSES[0],
      },
      { hex: "4883 640e ffc1 c0bf", ...RESPONSES[1] },
      {
        hex:
          "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 " +
          "e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
        ...RESPONSES[2],
      },
    ],
  },
];

describe("examples of RFC 7541, Appendix C", () => {
  it.each([
    { name: "C.1.1", hex: "0a", prefix: 0x1f, value: 10 },
    { name: "C.1.2", hex: "1f9a0a", prefix: 0x1f, value: 1337 },
    { name: "C.1.3", hex: "2a", prefix: 0xff, value: 42 },
  ])("$name: the integer $value", ({ hex, prefix, value }) => {
    const bytes = Buffer.from(hex, "hex");
    const reader = new IntegerReader();
    expect(reader.read(bytes, bytes.length, prefix)).toBe(value);
    expect(reader.at).toBe(bytes.length);
  });

  it.each(EXAMPLES)("$name", ({ tableMaxBytes, blocks }) => {
    const limits = { tableMaxBytes, listMaxBytes: LIST_MAX_BYTES, tableUpdatesMax: 2 };
    const decoder = new HpackDecoder(limits);
    const fields = new FieldList(limits);
    for (const { hex, fields: expected, tableBytes } of blocks) {
      const block = Buffer.from(hex.replaceAll(" ", ""), "hex");
      expect(decoder.decode(block, 0, block.length, fields)).toBe("ok");
      expect(Array.from({ length: fields.count }, (_, at) => `${fields.name(at)}: ${fields.value(at)}`)).toEqual(
        expected,
      );
      expect(decoder.tableBytes).toBe(tableBytes);
    }
  });
});
