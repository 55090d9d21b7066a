// Good and bad files of every kind that callers may send, made by code, with what must become of each.
import { deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import type { ImageFormat, ImageProblem } from "../image.ts";
import {
  cameraExif,
  exifSegment,
  jpegSegment,
  png,
  pngChunk,
  pngFile,
  pngHeader,
  withSegments,
} from "../sample-images.suite.ts";

/** Words that are in the metadata of the good files, and must not be in what is stored. */
export const METADATA_WORDS: readonly string[] = ["SecretCo", "GPS48.85", "<script>", "PK\u0003\u0004", "ns.adobe.com"];

/** A file that is taken. */
export interface GoodImage {
  readonly name: string;
  readonly bytes: Buffer;
  readonly format: ImageFormat;
  /** Size when it is upright. */
  readonly width: number;
  readonly height: number;
}

/** A file that is refused. */
export interface BadImage {
  readonly name: string;
  readonly bytes: Buffer;
  /** One of these, by where the decoder notices it. */
  readonly problems: readonly ImageProblem[];
}

const SCRIPT = Buffer.from("<script>alert(1)</script>");
const ARCHIVE = Buffer.from("PK\u0003\u0004<script>");
const XMP = Buffer.from("http://ns.adobe.com/xap/1.0/\0<x/>");

/** A picture of 48 by 32 pixels in which every corner differs. */
function picture(channels: 3 | 4 = 3, width = 48, height = 32): Sharp {
  const bytes = Buffer.alloc(width * height * channels);
  for (let index = 0; index < bytes.length; index++) bytes[index] = (index * 7 + (index >> 6) * 13) & 0xff;
  return sharp(bytes, { raw: { width, height, channels } });
}

/** The good files. */
export async function goodImages(): Promise<readonly GoodImage[]> {
  const jpeg = await picture().jpeg().toBuffer();
  const webp = await picture().webp().toBuffer();
  const made: readonly (readonly [name: string, format: ImageFormat, bytes: Buffer | Promise<Buffer>])[] = [
    ["a PNG in RGB", "png", picture().png().toBuffer()],
    ["a PNG in RGBA", "png", picture(4).png().toBuffer()],
    ["a PNG in grey", "png", picture().greyscale().png().toBuffer()],
    ["a PNG with a palette", "png", picture().png({ palette: true, colours: 16 }).toBuffer()],
    ["a PNG with a palette of two colours", "png", picture().png({ palette: true, colours: 2 }).toBuffer()],
    ["a PNG of 16 bits", "png", picture().toColourspace("rgb16").png().toBuffer()],
    ["an interlaced PNG", "png", picture().png({ progressive: true }).toBuffer()],
    ["a stored PNG", "png", picture().png({ compressionLevel: 0 }).toBuffer()],
    ["a PNG with a colour profile", "png", picture().withIccProfile("p3").png().toBuffer()],
    ["a PNG with EXIF", "png", insertChunks(await picture().png().toBuffer(), pngChunk("eXIf", cameraExif(1)))],
    ["a PNG with a script as text", "png", insertChunks(await picture().png().toBuffer(), textChunk(SCRIPT))],
    ["a PNG with an unknown chunk", "png", insertChunks(await picture().png().toBuffer(), pngChunk("prVt", SCRIPT))],
    ["an animated PNG", "png", insertChunks(await picture().png().toBuffer(), pngChunk("acTL", Buffer.alloc(8)))],
    ["a PNG with an archive behind it", "png", join(picture().png().toBuffer(), ARCHIVE)],
    ["a baseline JPEG", "jpeg", jpeg],
    ["a JPEG in grey", "jpeg", picture().greyscale().jpeg().toBuffer()],
    ["a progressive JPEG", "jpeg", picture().jpeg({ progressive: true }).toBuffer()],
    ["a JPEG with all its colours", "jpeg", picture().jpeg({ chromaSubsampling: "4:4:4", quality: 100 }).toBuffer()],
    ["a JPEG of low quality", "jpeg", picture().jpeg({ quality: 5 }).toBuffer()],
    ["a JPEG in CMYK", "jpeg", picture().toColourspace("cmyk").jpeg().toBuffer()],
    ["a JPEG with a colour profile", "jpeg", picture().withIccProfile("p3").jpeg().toBuffer()],
    ["a JPEG with position", "jpeg", withSegments(jpeg, exifSegment(1))],
    ["a JPEG with XMP", "jpeg", withSegments(jpeg, jpegSegment(0xe1, XMP))],
    ["a JPEG with a script as comment", "jpeg", withSegments(jpeg, jpegSegment(0xfe, SCRIPT))],
    ["a JPEG with an archive behind it", "jpeg", join(jpeg, ARCHIVE)],
    ["a JPEG of a Samsung camera", "jpeg", withSamsungScan(jpeg)],
    ["a lossy WebP", "webp", webp],
    ["a WebP with transparency", "webp", picture(4).webp().toBuffer()],
    ["a lossless WebP", "webp", picture().webp({ lossless: true }).toBuffer()],
    ["a lossless WebP with transparency", "webp", picture(4).webp({ lossless: true }).toBuffer()],
    ["a WebP with a colour profile", "webp", picture().withIccProfile("p3").webp().toBuffer()],
    [
      "a WebP with EXIF",
      "webp",
      picture()
        .withExif({ IFD0: { Make: "SecretCo", Model: "GPS48.85" } })
        .webp()
        .toBuffer(),
    ],
    ["a WebP with an archive behind it", "webp", join(webp, ARCHIVE)],
  ];
  const upright = await Promise.all(
    made.map(async ([name, format, bytes]) => ({ name, format, bytes: await bytes, width: 48, height: 32 })),
  );
  const turned = [1, 2, 3, 4, 5, 6, 7, 8].map((orientation) => ({
    name: `a JPEG with orientation ${orientation}`,
    format: "jpeg" as const,
    bytes: withSegments(jpeg, exifSegment(orientation)),
    width: orientation < 5 ? 48 : 32,
    height: orientation < 5 ? 32 : 48,
  }));
  const sizes = (
    [
      [16, 16],
      [4096, 16],
      [16, 4096],
    ] as const
  ).map(async ([width, height]) => ({
    name: `a PNG of ${width} by ${height}`,
    format: "png" as const,
    bytes: await picture(3, width, height).png().toBuffer(),
    width,
    height,
  }));
  return [...upright, ...turned, ...(await Promise.all(sizes))];
}

/**
 * The scan of a baseline JPEG with the header that Samsung cameras write: its last coefficient is 0, about
 * which libjpeg warns ("Invalid SOS parameters for sequential JPEG").
 */
function withSamsungScan(jpeg: Buffer): Buffer {
  const file = Buffer.from(jpeg);
  const scan = file.lastIndexOf(Buffer.from("ffda", "hex"));
  const components = file.readUInt8(scan + 4);
  file.writeUInt8(0, scan + 6 + 2 * components);
  return file;
}

/** Photos of a phone's camera of 50 megapixels: lying, standing, and progressive. */
export async function largePhotos(): Promise<readonly Buffer[]> {
  const blank = sharp({ create: { width: 8160, height: 6120, channels: 3, background: "#3080c0" } });
  const baseline = await blank.clone().jpeg().toBuffer();
  return [baseline, withSegments(baseline, exifSegment(6)), await blank.jpeg({ progressive: true }).toBuffer()];
}

/** Noise, which no encoder makes small. */
export async function noise(format: ImageFormat): Promise<Buffer> {
  const noise = { type: "gaussian", mean: 128, sigma: 60 } as const;
  const picture = sharp({ create: { width: 400, height: 300, channels: 3, background: "black", noise } });
  return picture.toFormat(format, { quality: 90 }).toBuffer();
}

/** The bad files. */
export async function badImages(): Promise<readonly BadImage[]> {
  return [...otherFiles(), ...(await otherFormats()), ...(await damagedImages()), ...(await wrongSizes())];
}

function otherFiles(): readonly BadImage[] {
  const png0 = png();
  const hugeHeader = Buffer.from(png0);
  hugeHeader.writeUInt32BE(0xffffffff, 8);
  const files: readonly (readonly [string, Buffer])[] = [
    ["an SVG", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg' width='32' height='32' onload='alert(1)'/>")],
    ["an SVG with an XML header", Buffer.from("<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>")],
    ["a page", Buffer.from("<!doctype html><script>alert(1)</script>")],
    ["a PDF", Buffer.from("%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj")],
    ["an archive", Buffer.concat([ARCHIVE, Buffer.alloc(100)])],
    ["a GIF that is a script", Buffer.from("GIF89a=1;alert(1);//")],
    ["an icon file with a loop", Buffer.from("69636e73000000106973333200000000", "hex")],
    ["a JXL box of no size", Buffer.from("0000000c4a584c200d0a870a00000000", "hex")],
    ["a HEIF box of no size", Buffer.from("000000006674797068656963", "hex")],
    ["one byte", Buffer.from("x")],
    ["a PNG signature and a script", Buffer.concat([png0.subarray(0, 8), SCRIPT])],
    ["a PNG header of 4 GiB", hugeHeader],
    ["a JPEG of its markers only", Buffer.from("ffd8ffd9", "hex")],
    ["a JPEG with a script as content", Buffer.concat([Buffer.from("ffd8ffe0", "hex"), SCRIPT])],
    ["a WebP that ends after its header", Buffer.from("RIFF\x20\0\0\0WEBPVP8 ", "latin1")],
  ];
  return files.map(([name, bytes]) => ({ name, bytes, problems: ["type"] }));
}

async function otherFormats(): Promise<readonly BadImage[]> {
  const frames = ["red", "blue"].map((background) =>
    sharp({ create: { width: 32, height: 32, channels: 3, background } })
      .png()
      .toBuffer(),
  );
  const animated = sharp(await Promise.all(frames), { join: { animated: true } });
  return [
    { name: "a GIF", bytes: await picture().gif().toBuffer(), problems: ["type"] },
    { name: "a TIFF", bytes: await picture().tiff().toBuffer(), problems: ["type"] },
    { name: "an AVIF", bytes: await picture().avif({ effort: 0 }).toBuffer(), problems: ["type"] },
    { name: "an animated WebP", bytes: await animated.webp().toBuffer(), problems: ["animated"] },
  ];
}

async function damagedImages(): Promise<readonly BadImage[]> {
  const bytes = {
    png: await picture().png().toBuffer(),
    jpeg: await picture().jpeg().toBuffer(),
    progressive: await picture().jpeg({ progressive: true }).toBuffer(),
    webp: await picture().webp().toBuffer(),
    lossless: await picture().webp({ lossless: true }).toBuffer(),
  };
  const cut = Object.entries(bytes).map(([kind, file]): BadImage => ({
    name: `half of a file (${kind})`,
    bytes: file.subarray(0, file.length >> 1),
    problems: ["damaged", "type"],
  }));
  const tooLong = Buffer.from(bytes.webp);
  tooLong.writeUInt32LE(bytes.webp.length * 2, 4);
  const noSegmentLength = Buffer.from(bytes.jpeg);
  noSegmentLength.writeUInt16BE(0, 4);
  const wrongPicture = Buffer.from(bytes.png);
  wrongPicture.fill(0xff, bytes.png.length >> 1, (bytes.png.length >> 1) + 8);
  const files: readonly (readonly [string, Buffer])[] = [
    ["a PNG without picture", pngFile([pngHeader(32, 32)])],
    ["a PNG without end", png().subarray(0, -20)],
    ["a PNG with a wrong picture", wrongPicture],
    ["a PNG whose picture is no deflate stream", pngFile([pngHeader(32, 32), pngChunk("IDAT", SCRIPT)])],
    ["a PNG with less picture than it claims", png({ width: 200, height: 200 })],
    ["a PNG with an unknown critical chunk", png({ before: [pngChunk("ABCD", SCRIPT)] })],
    ["a PNG of no size", pngFile([pngHeader(0, 0), pngChunk("IDAT", deflateSync(Buffer.alloc(1)))])],
    ["a JPEG segment of no length", noSegmentLength],
    ["a WebP that claims more than it has", tooLong],
  ];
  return [...cut, ...files.map(([name, file]): BadImage => ({ name, bytes: file, problems: ["damaged", "type"] }))];
}

async function wrongSizes(): Promise<readonly BadImage[]> {
  const wide = await picture(3, 8192, 16).webp().toBuffer();
  const jpeg = Buffer.from(await picture().jpeg().toBuffer());
  const frame = jpeg.indexOf(Buffer.from("ffc0", "hex"));
  jpeg.writeUInt16BE(60_000, frame + 5);
  jpeg.writeUInt16BE(60_000, frame + 7);
  const claims = (
    [
      [60_000, 60_000],
      [1, 100_000],
      [4097, 16],
      [16, 4097],
      [15, 16],
    ] as const
  ).map(([width, height]): BadImage => ({
    name: `a PNG that claims ${width} by ${height}`,
    bytes: png({ width, height }),
    problems: ["dimensions"],
  }));
  return [
    ...claims,
    {
      name: "a PNG that claims the most",
      bytes: png({ width: 0x7fffffff, height: 0x7fffffff }),
      problems: ["dimensions", "type"],
    },
    { name: "a WebP of 8192 by 16", bytes: wide, problems: ["dimensions"] },
    { name: "a JPEG that claims 60000 by 60000", bytes: jpeg, problems: ["dimensions"] },
  ];
}

/** Small PNGs with much in them besides the picture. */
export function bombs(): readonly { readonly name: string; readonly bytes: Buffer }[] {
  const zeros = deflateSync(Buffer.alloc(100_000_000), { level: 9 });
  const inChunk = (type: string, head: string): Buffer =>
    png({ before: [pngChunk(type, Buffer.concat([Buffer.from(head), zeros]))] });
  return [
    { name: "100 MB of text", bytes: inChunk("zTXt", "Comment\0\0") },
    { name: "100 MB of international text", bytes: inChunk("iTXt", "Comment\0\u0001\0\0\0") },
    { name: "a colour profile of 100 MB", bytes: inChunk("iCCP", "name\0\0") },
    { name: "a picture of 100 MB", bytes: pngFile([pngHeader(32, 32), pngChunk("IDAT", zeros)]) },
  ];
}

/**
 * A progressive JPEG of `side` by `side` pixels whose last scan is repeated: each costs a few bytes to
 * send, and a pass over all coefficients to decode.
 */
export async function jpegOfScans(side: number, scans: number): Promise<Buffer> {
  const blank = sharp({ create: { width: side, height: side, channels: 3, background: "black" } });
  const jpeg = await blank.greyscale().jpeg({ progressive: true }).toBuffer();
  const last = jpeg.lastIndexOf(Buffer.from("ffda", "hex"));
  const scan = jpeg.subarray(last, -2);
  return Buffer.concat([jpeg.subarray(0, last), ...Array<Buffer>(scans).fill(scan), jpeg.subarray(-2)]);
}

/** A PNG within all limits whose picture is 4096 by 4096 pixels of four 16-bit channels, in a few KiB. */
export function largestPng(): Buffer {
  const header = pngHeader(4096, 4096).subarray(8, -4);
  header.writeUInt8(16, 8);
  header.writeUInt8(6, 9);
  const row = Buffer.alloc(1 + 4096 * 8);
  return pngFile([
    pngChunk("IHDR", header),
    pngChunk("IDAT", deflateSync(Buffer.concat(Array<Buffer>(4096).fill(row)), { level: 1 })),
  ]);
}

/** Pictures of the largest size whose decoders keep all of it in memory, in small files. */
export async function largestImages(): Promise<readonly Buffer[]> {
  const blank = sharp({ create: { width: 4096, height: 4096, channels: 4, background: "#30c08080" } });
  const jpeg = await blank.clone().jpeg({ progressive: true, chromaSubsampling: "4:4:4" }).toBuffer();
  const webp = await blank.clone().webp({ effort: 0 }).withMetadata({ orientation: 6 }).toBuffer();
  return [withSegments(jpeg, exifSegment(6)), webp];
}

function insertChunks(file: Buffer, ...chunks: readonly Buffer[]): Buffer {
  const afterHeader = 8 + 25;
  return Buffer.concat([file.subarray(0, afterHeader), ...chunks, file.subarray(afterHeader)]);
}

function textChunk(text: Buffer): Buffer {
  return pngChunk("iTXt", Buffer.concat([Buffer.from("Comment\0\0\0\0\0"), text]));
}

async function join(file: Buffer | Promise<Buffer>, after: Buffer): Promise<Buffer> {
  return Buffer.concat([await file, after]);
}
