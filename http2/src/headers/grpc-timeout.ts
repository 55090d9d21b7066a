// Reads grpc-timeout (gRPC over HTTP/2, "Timeout"): 1 to 8 digits and a unit.

/** Milliseconds of each unit. */
const UNIT_MS: Readonly<Record<number, number>> = {
  0x48: 3_600_000, // H
  0x4d: 60_000, // M
  0x53: 1000, // S
  0x6d: 1, // m
  0x75: 1e-3, // u
  0x6e: 1e-6, // n
};

const DIGITS_MAX = 8;
const ZERO = 0x30;

/** Milliseconds, with fractions; NaN when the bytes from `start` up to `end` are no timeout. */
export function parseGrpcTimeout(bytes: Buffer, start: number, end: number): number {
  const digits = end - start - 1;
  if (digits < 1 || digits > DIGITS_MAX) return Number.NaN;
  let amount = 0;
  for (let at = start; at < end - 1; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    amount = amount * 10 + digit;
  }
  return amount * (UNIT_MS[bytes[end - 1] ?? 0] ?? Number.NaN);
}
