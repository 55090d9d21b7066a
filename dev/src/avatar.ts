// Draws the sample avatar that the printed commands upload: a real PNG, made with node:zlib alone,
// so that the repository holds no binary file. Not a general PNG writer: one size, eight bits of
// red, green and blue.
import { crc32, deflateSync } from "node:zlib";

/** Width and height in pixels. */
const SIZE = 64;

/** The first eight bytes of every PNG file (PNG specification, section 5.2). */
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Water above the weir, the crest, and water below. */
const COLOURS = { above: [0x2b, 0x6c, 0xb0], crest: [0xf7, 0xfa, 0xfc], below: [0x90, 0xcd, 0xf4] } as const;

/** The bytes of a small picture of a weir. */
export function drawAvatar(): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 2, 0, 0, 0], 8); // Eight bits per channel, true colour, deflate, adaptive filter, not interlaced.
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(drawPixels())),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function drawPixels(): Buffer {
  const rowBytes = 1 + SIZE * 3; // Each row begins with the number of its filter; 0 is none.
  const pixels = Buffer.alloc(rowBytes * SIZE);
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) pixels.set(COLOURS[colourAt(x, y)], y * rowBytes + 1 + x * 3);
  }
  return pixels;
}

function colourAt(x: number, y: number): keyof typeof COLOURS {
  const crestY = x < SIZE / 2 ? SIZE * 0.35 : SIZE * 0.65;
  if (Math.abs(y - crestY) < 3 || (Math.abs(x - SIZE / 2) < 3 && y > SIZE * 0.35 && y < SIZE * 0.65)) return "crest";
  return y < crestY ? "above" : "below";
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
