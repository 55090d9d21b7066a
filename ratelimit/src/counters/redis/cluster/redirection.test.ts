// Redirections as the Redis cluster specification writes them, their odd forms, and garbage.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRedirection } from "./redirection.ts";

/** Longest time of a fuzzer on a busy machine, in milliseconds. */
const FUZZ_TIMEOUT_MS = 60_000;

describe("parseRedirection()", () => {
  it.each([
    { text: "MOVED 3999 127.0.0.1:6381", kind: "moved", slot: 3999, host: "127.0.0.1", port: 6381 },
    { text: "ASK 3999 127.0.0.1:6381", kind: "ask", slot: 3999, host: "127.0.0.1", port: 6381 },
    { text: "MOVED 0 redis-0.redis.svc:6379", kind: "moved", slot: 0, host: "redis-0.redis.svc", port: 6379 },
    { text: "MOVED 16383 ::1:6379", kind: "moved", slot: 16_383, host: "::1", port: 6379 },
    { text: "ASK 5 [fe80::1%eth0]:65535", kind: "ask", slot: 5, host: "fe80::1%eth0", port: 65_535 },
    { text: "MOVED 3999 :6381", kind: "moved", slot: 3999, host: "asked.example", port: 6381 },
    { text: "ASK 3999 :6381", kind: "ask", slot: 3999, host: "asked.example", port: 6381 },
  ])("parseRedirection() finds $host:$port when the reply is '$text'", ({ text, kind, slot, host, port }) => {
    expect(parseRedirection(text, "asked.example")).toEqual({ kind, slot, endpoint: { host, port } });
  });

  it.each([
    "TRYAGAIN Multiple keys request during rehashing of slot",
    "CLUSTERDOWN The cluster is down",
    "CLUSTERDOWN Hash slot not served",
    "MASTERDOWN PooledConnection with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
  ])("parseRedirection() says later when the reply is '%s'", (text) => {
    expect(parseRedirection(text, "asked.example")).toEqual({ kind: "later" });
  });

  it.each([
    "",
    "ERR value is not an integer or out of range",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MOVED",
    "MOVED 16384 127.0.0.1:6381",
    "MOVED -1 127.0.0.1:6381",
    "MOVED 1 127.0.0.1:0",
    "MOVED 1 127.0.0.1:65536",
    "MOVED 1 127.0.0.1",
    "MOVED 1 ?:6381",
    "MOVED 1 127.0.0.1:6381 more",
    "MOVED x 127.0.0.1:6381",
    "ASKING 1 127.0.0.1:6381",
    "moved 1 127.0.0.1:6381",
    "MOVED 1 a b:6381",
    "CLUSTERDOWNTOWN",
  ])("parseRedirection() finds none when the reply is '%s'", (text) => {
    expect(parseRedirection(text, "asked.example")).toBeUndefined();
  });

  it(
    "parseRedirection() gives only what can be dialled when replies are garbage",
    () => {
      const word = fc.constantFrom(
        "MOVED",
        "ASK",
        "TRYAGAIN",
        " ",
        "  ",
        ":",
        "1",
        "16383",
        "99999",
        "::",
        "[",
        "]",
        "?",
        "\n",
        "é",
        "h",
        "6379",
      );
      const garbage = fc.oneof(
        fc.string({ unit: "binary", maxLength: 300 }),
        fc.array(word, { maxLength: 12 }).map((parts) => parts.join("")),
      );
      fc.assert(
        fc.property(garbage, (text) => {
          const found = parseRedirection(text, "asked.example");
          if (found === undefined || found.kind === "later") return true;
          const { slot, endpoint } = found;
          return (
            slot < 16_384 && endpoint.port > 0 && endpoint.port < 65_536 && /^[\w.:%-]{1,255}$/.test(endpoint.host)
          );
        }),
        { numRuns: 10_000, seed: 3999 },
      );
    },
    FUZZ_TIMEOUT_MS,
  );
});
