import { describe, expect, it } from "vitest";
import { createPartCounter } from "./part-counter.ts";

const BODY =
  '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\nX: y\r\n\r\n--bx not a delimiter\r\n--b--\r\nepilogue\r\n--b\r\n';

describe("createPartCounter()", () => {
  it.each([1, 2, 3, 5, 7, 1000])("counts two parts in chunks of %i bytes", (size) => {
    const counter = createPartCounter("multipart/form-data; boundary=b");
    for (let at = 0; at < BODY.length; at += size) counter?.push(Buffer.from(BODY.slice(at, at + size)));
    expect(counter?.parts()).toBe(2);
  });

  it.each([
    { contentType: 'multipart/form-data; boundary="b"' },
    { contentType: 'multipart/form-data; charset=utf-8;boundary="\\b"' },
    { contentType: "multipart/form-data; BOUNDARY=b; x=y" },
  ])("reads the boundary of $contentType", ({ contentType }) => {
    const counter = createPartCounter(contentType);
    counter?.push(Buffer.from(BODY));
    expect(counter?.parts()).toBe(2);
  });

  it.each(["multipart/form-data", "multipart/form-data; boundary=", 'multipart/form-data; boundary=""'])(
    "is absent for %s",
    (contentType) => {
      expect(createPartCounter(contentType)).toBeUndefined();
    },
  );
});
