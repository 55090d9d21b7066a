// The static table of RFC 7541, Appendix A, as ranges of bytes.
import { markOf } from "./field-mark.ts";
import { identifyName } from "./field-name.ts";
import { classesOf } from "./octet-class.ts";

/** Fields from index 1 on; a name alone has an empty value. */
const ENTRIES: readonly (readonly [name: string, value?: string])[] = [
  [":authority"],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset"],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language"],
  ["accept-ranges"],
  ["accept"],
  ["access-control-allow-origin"],
  ["age"],
  ["allow"],
  ["authorization"],
  ["cache-control"],
  ["content-disposition"],
  ["content-encoding"],
  ["content-language"],
  ["content-length"],
  ["content-location"],
  ["content-range"],
  ["content-type"],
  ["cookie"],
  ["date"],
  ["etag"],
  ["expect"],
  ["expires"],
  ["from"],
  ["host"],
  ["if-match"],
  ["if-modified-since"],
  ["if-none-match"],
  ["if-range"],
  ["if-unmodified-since"],
  ["last-modified"],
  ["link"],
  ["location"],
  ["max-forwards"],
  ["proxy-authenticate"],
  ["proxy-authorization"],
  ["range"],
  ["referer"],
  ["refresh"],
  ["retry-after"],
  ["server"],
  ["set-cookie"],
  ["strict-transport-security"],
  ["transfer-encoding"],
  ["user-agent"],
  ["vary"],
  ["via"],
  ["www-authenticate"],
];

/** The last index of the static table. */
export const STATIC_COUNT = ENTRIES.length;

/** Every name and value, one after the other. */
export const STATIC_BYTES = Buffer.from(ENTRIES.map(([name, value = ""]) => name + value).join(""));

/**
 * By index, four numbers each: where the name starts in STATIC_BYTES, where the value starts, where
 * it ends, and the field's mark.
 */
export const STATIC_ENTRIES = new Int32Array(4 * (STATIC_COUNT + 1));

let end = 0;
for (const [at, [name, value = ""]] of ENTRIES.entries()) {
  const start = end;
  const valueStart = start + name.length;
  end = valueStart + value.length;
  const mark = markOf(identifyName(STATIC_BYTES, start, valueStart), classesOf(STATIC_BYTES, valueStart, end));
  STATIC_ENTRIES.set([start, valueStart, end, mark], 4 * (at + 1));
}
