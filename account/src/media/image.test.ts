import { describe, expect, it } from "vitest";
import { AVATAR_LIMITS, cleanImage, type ImageResult } from "./image.ts";
import * as sample from "./sample-images.suite.ts";

const GIF_SCRIPT = Buffer.from("GIF89a=1;alert(1);//");

function clean(bytes: Buffer): ImageResult {
  return cleanImage(bytes, AVATAR_LIMITS);
}

function cleanBytes(bytes: Buffer): Buffer {
  const result = clean(bytes);
  if (!result.ok) throw new Error(`expected an image, got ${result.problem}`);
  return result.image.bytes;
}

describe("cleanImage() on whole images", () => {
  it.each([
    { name: "PNG", bytes: sample.png(), format: "png" },
    { name: "JPEG", bytes: sample.jpeg(), format: "jpeg" },
    { name: "lossy WebP", bytes: sample.webpFile([sample.webpLossy()]), format: "webp" },
    { name: "lossless WebP", bytes: sample.webpFile([sample.webpLossless()]), format: "webp" },
    { name: "extended WebP", bytes: sample.webpFile([sample.webpHeader(0), sample.webpLossless()]), format: "webp" },
  ])("takes a $name without metadata unchanged", ({ bytes, format }) => {
    expect(clean(bytes)).toEqual({ ok: true, image: { format, width: 32, height: 32, bytes } });
  });
});

describe("cleanImage() on metadata", () => {
  it("drops text, comments and unknown ancillary chunks of a PNG", () => {
    const script = sample.pngChunk("iTXt", Buffer.from("Comment\0\0\0\0\0<script>alert(1)</script>"));
    const bytes = sample.png({ before: [script, sample.pngChunk("prVt", Buffer.from("private"))] });
    expect(cleanBytes(bytes)).toEqual(sample.png());
  });

  it("keeps the colour profile of a PNG", () => {
    const profile = sample.pngChunk("iCCP", Buffer.from("name\0\0profile"));
    expect(cleanBytes(sample.png({ before: [profile] }))).toEqual(sample.png({ before: [profile] }));
  });

  it("turns an animated PNG into its still picture", () => {
    const bytes = sample.png({
      before: [sample.pngChunk("acTL", Buffer.alloc(8)), sample.pngChunk("fcTL", Buffer.alloc(26))],
    });
    expect(cleanBytes(bytes)).toEqual(sample.png());
  });

  it("keeps only the orientation of a PNG's EXIF", () => {
    const bytes = sample.png({ before: [sample.pngChunk("eXIf", sample.cameraExif(6))] });
    expect(cleanBytes(bytes)).toEqual(sample.png({ before: [sample.pngChunk("eXIf", sample.ORIENTATION_6_TIFF)] }));
  });

  it("drops position and comment of a JPEG and keeps its orientation", () => {
    const exif = Buffer.concat([Buffer.from("Exif\0\0"), sample.cameraExif(6)]);
    const comment = sample.jpegSegment(0xfe, Buffer.from("<script>alert(1)</script>"));
    const xmp = sample.jpegSegment(0xe1, Buffer.from("http://ns.adobe.com/xap/1.0/\0<x/>"));
    const bytes = sample.jpeg({ before: [sample.jpegSegment(0xe1, exif), xmp, comment] });
    const kept = sample.jpegSegment(0xe1, Buffer.concat([Buffer.from("Exif\0\0"), sample.ORIENTATION_6_TIFF]));
    expect(cleanBytes(bytes)).toEqual(sample.jpeg({ before: [kept] }));
  });

  it("drops the EXIF of an upright JPEG altogether", () => {
    const exif = Buffer.concat([Buffer.from("Exif\0\0"), sample.cameraExif(1)]);
    expect(cleanBytes(sample.jpeg({ before: [sample.jpegSegment(0xe1, exif)] }))).toEqual(sample.jpeg());
  });

  it("keeps profile and colour transform of a JPEG and cuts the thumbnail off its JFIF", () => {
    const profile = sample.jpegSegment(0xe2, Buffer.from("ICC_PROFILE\0\x01\x01data", "latin1"));
    const adobe = Buffer.from("Adobe\0\x64\0\0\0\0\x01", "latin1");
    const jfif = Buffer.from("4a46494600010200000100010000", "hex");
    const thumbnail = Buffer.concat([jfif.subarray(0, 12), Buffer.from([1, 1, 9, 9, 9])]);
    const bytes = sample.jpeg({
      before: [
        sample.jpegSegment(0xe0, thumbnail),
        profile,
        sample.jpegSegment(0xee, Buffer.concat([adobe, Buffer.from("more")])),
      ],
    });
    expect(cleanBytes(bytes)).toEqual(
      sample.jpeg({ before: [sample.jpegSegment(0xe0, jfif), profile, sample.jpegSegment(0xee, adobe)] }),
    );
  });

  it("keeps profile, transparency and orientation of a WebP and drops the rest", () => {
    const profile = sample.riffChunk("ICCP", Buffer.from("profile"));
    const alpha = sample.riffChunk("ALPH", Buffer.from("alpha"));
    const exif = sample.riffChunk("EXIF", sample.cameraExif(6));
    const further = [sample.riffChunk("XMP ", Buffer.from("<x/>")), sample.riffChunk("junk", Buffer.from("?"))];
    const bytes = sample.webpFile([sample.webpHeader(0x3c), profile, alpha, sample.webpLossy(), exif, ...further]);
    const kept = sample.riffChunk("EXIF", sample.ORIENTATION_6_TIFF);
    expect(cleanBytes(bytes)).toEqual(
      sample.webpFile([sample.webpHeader(0x38), profile, alpha, sample.webpLossy(), kept]),
    );
  });

  it.each([
    { name: "PNG", make: (after: Buffer) => sample.png({ after }) },
    { name: "JPEG", make: (after: Buffer) => sample.jpeg({ after }) },
    { name: "WebP", make: (after: Buffer) => sample.webpFile([sample.webpLossy()], after) },
  ])("cuts an archive and a page off the end of a $name", ({ make }) => {
    expect(cleanBytes(make(Buffer.from("PK\x03\x04<html><script>")))).toEqual(make(Buffer.alloc(0)));
  });
});

describe("cleanImage() on other files", () => {
  it.each([
    { name: "nothing", bytes: Buffer.alloc(0) },
    { name: "an SVG", bytes: Buffer.from("<svg onload=alert(1)>") },
    { name: "a page", bytes: Buffer.from("<!doctype html><script>alert(1)</script>") },
    { name: "an XML SVG", bytes: Buffer.from("<?xml version='1.0'?><svg/>") },
    { name: "a PDF", bytes: Buffer.from("%PDF-1.7") },
    { name: "a GIF that is a script", bytes: GIF_SCRIPT },
    { name: "an icon file", bytes: Buffer.from("69636e73000000106973333200000000", "hex") },
    { name: "a JXL box of no size", bytes: Buffer.from("0000000c4a584c200d0a870a00000000", "hex") },
    { name: "a HEIF box of no size", bytes: Buffer.from("000000006674797068656963", "hex") },
  ])("refuses $name by type", ({ bytes }) => {
    expect(clean(bytes)).toEqual({ ok: false, problem: "type" });
  });
});

describe("cleanImage() on damaged images", () => {
  const whole = sample.png();
  const wrongChecksum = Buffer.from(whole);
  wrongChecksum.writeUInt8(1, 29);
  const hugeHeader = Buffer.from(whole);
  hugeHeader.writeUInt32BE(0xffffffff, 8);
  const lyingWebp = sample.webpFile([sample.webpLossy()]);
  lyingWebp.writeUInt32LE(lyingWebp.length, 4);
  const emptySegment = sample.jpeg();
  emptySegment.writeUInt16BE(0, 4);
  const header = sample.pngHeader(32, 32);
  const signature = whole.subarray(0, 8);
  const end = sample.pngChunk("IEND", Buffer.alloc(0));
  const picture = sample.pngChunk("IDAT", Buffer.from("x"));
  const gap = sample.pngChunk("tRNS", Buffer.alloc(2));

  it.each([
    {
      name: "a PNG signature and a script",
      bytes: Buffer.concat([signature, Buffer.from("<script>alert(1)</script>")]),
    },
    { name: "a PNG with a wrong checksum", bytes: wrongChecksum },
    { name: "a PNG header of 4 GiB", bytes: hugeHeader },
    { name: "a PNG without end", bytes: whole.subarray(0, -12) },
    { name: "a PNG without picture", bytes: Buffer.concat([signature, header, end]) },
    { name: "a PNG with two headers", bytes: Buffer.concat([signature, header, header, picture, end]) },
    { name: "a PNG whose picture is torn", bytes: Buffer.concat([signature, header, picture, gap, picture, end]) },
    {
      name: "a PNG with an unknown critical chunk",
      bytes: sample.png({ before: [sample.pngChunk("ABCD", Buffer.alloc(1))] }),
    },
    {
      name: "a PNG with a palette of 2 bytes",
      bytes: sample.png({ before: [sample.pngChunk("PLTE", Buffer.alloc(2))] }),
    },
    { name: "a WebP that claims more than it has", bytes: lyingWebp },
    { name: "a WebP without picture", bytes: sample.webpFile([sample.webpHeader(0)]) },
    {
      name: "a WebP with two pictures",
      bytes: sample.webpFile([sample.webpHeader(0), sample.webpLossy(), sample.webpLossy()]),
    },
    { name: "a WebP whose canvas differs", bytes: sample.webpFile([sample.webpHeader(0, 64, 64), sample.webpLossy()]) },
    { name: "a JPEG segment of no length", bytes: emptySegment },
    { name: "a JPEG without end", bytes: sample.jpeg().subarray(0, -2) },
    { name: "a JPEG of its marker only", bytes: Buffer.from("ffd8ffd9", "hex") },
    {
      name: "a JPEG with an arithmetic frame",
      bytes: sample.jpeg({ before: [sample.jpegSegment(0xc9, Buffer.alloc(9))] }),
    },
  ])("refuses $name", ({ bytes }) => {
    expect(clean(bytes)).toEqual({ ok: false, problem: "damaged" });
  });

  it("refuses an animated WebP", () => {
    const bytes = sample.webpFile([sample.webpHeader(0x02), sample.riffChunk("ANIM", Buffer.alloc(6))]);
    expect(clean(bytes)).toEqual({ ok: false, problem: "animated" });
  });
});

describe("cleanImage() on sizes", () => {
  it.each([
    { width: 15, height: 32, ok: false },
    { width: 16, height: 16, ok: true },
    { width: 4096, height: 4096, ok: true },
    { width: 4097, height: 16, ok: false },
    { width: 60000, height: 60000, ok: false },
    { width: 1, height: 100000, ok: false },
    { width: 0, height: 0, ok: false },
  ])("answers $ok for $width x $height", ({ width, height, ok }) => {
    const result = clean(sample.png({ width, height }));
    expect(result.ok ? true : result.problem).toBe(ok ? true : "dimensions");
  });
});
