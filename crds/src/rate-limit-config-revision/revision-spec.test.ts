import { gzipSync } from "node:zlib";

import { describe, expect, it } from "vitest";

import { PLAIN_MAX_BYTES, revisionContent, SPEC_MAX_BYTES, specOfRevision } from "./revision-spec.ts";

/** A spec whose JSON has so many bytes. */
function specOf(bytes: number): unknown {
  const empty = JSON.stringify({ domain: "" }).length;
  return { domain: "x".repeat(bytes - empty) };
}

function compressed(text: string): { readonly compressedSpec: string } {
  return { compressedSpec: gzipSync(text).toString("base64") };
}

describe("revisionContent()", () => {
  it.each([
    { bytes: PLAIN_MAX_BYTES, field: "spec" },
    { bytes: PLAIN_MAX_BYTES + 1, field: "compressedSpec" },
  ])("writes $bytes bytes as $field, which is read as the same", ({ bytes, field }) => {
    const content = revisionContent(specOf(bytes));
    expect(Object.keys(content)).toEqual([field]);
    expect(specOfRevision({ ...content })).toEqual(specOf(bytes));
  });

  it("counts bytes, not characters", () => {
    expect(Object.keys(revisionContent({ domain: "é".repeat(PLAIN_MAX_BYTES / 2) }))).toEqual(["compressedSpec"]);
  });
});

describe("specOfRevision()", () => {
  it("reads up to its bound, however small that is compressed", () => {
    expect(specOfRevision(compressed(JSON.stringify(specOf(SPEC_MAX_BYTES))))).toEqual(specOf(SPEC_MAX_BYTES));
    expect(specOfRevision(compressed(JSON.stringify(specOf(SPEC_MAX_BYTES + 1))))).toBeUndefined();
  });

  it.each([
    { what: "nothing", content: {} },
    { what: "no text", content: { compressedSpec: 1 } },
    { what: "no gzip", content: { compressedSpec: Buffer.from("{}").toString("base64") } },
    { what: "half of it", content: { compressedSpec: compressed('{"domain":"shop"}').compressedSpec.slice(0, 20) } },
    { what: "no JSON", content: compressed("{") },
  ])("is undefined for $what", ({ content }) => {
    expect(specOfRevision(content)).toBeUndefined();
  });
});
