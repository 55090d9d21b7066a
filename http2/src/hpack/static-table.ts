// The static table of RFC 7541, Appendix A, as ranges of bytes.
import { identifyName } from "./field-name.ts";

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

/** By index: where the entry's name begins, where its value begins, and where it ends. */
export const STATIC_NAME_START = new Int32Array(STATIC_COUNT + 1);
export const STATIC_VALUE_START = new Int32Array(STATIC_COUNT + 1);
export const STATIC_END = new Int32Array(STATIC_COUNT + 1);

/** By index: the NameId of the entry's name. */
export const STATIC_NAME_ID = new Uint8Array(STATIC_COUNT + 1);

let end = 0;
for (const [at, [name, value = ""]] of ENTRIES.entries()) {
  const index = at + 1;
  STATIC_NAME_START[index] = end;
  STATIC_VALUE_START[index] = end + name.length;
  STATIC_NAME_ID[index] = identifyName(STATIC_BYTES, end, end + name.length);
  end += name.length + value.length;
  STATIC_END[index] = end;
}
