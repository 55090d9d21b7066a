// Every form of an address, and the refusal of what is none.
import { describe, expect, it } from "vitest";
import { parseNodeAddress } from "./node-address.ts";

describe("parseNodeAddress()", () => {
  it.each([
    { word: "memcached:11211", address: { kind: "tcp", host: "memcached", port: 11_211, text: "memcached:11211" } },
    { word: ":11211", address: { kind: "tcp", host: "localhost", port: 11_211, text: ":11211" } },
    { word: "[::1]:11211", address: { kind: "tcp", host: "::1", port: 11_211, text: "[::1]:11211" } },
    {
      word: "/run/memcached.sock",
      address: { kind: "unix", path: "/run/memcached.sock", text: "/run/memcached.sock" },
    },
    { word: "./memcached.sock", address: { kind: "unix", path: "./memcached.sock", text: "./memcached.sock" } },
  ])("parseNodeAddress() reads $word", ({ word, address }) => {
    expect(parseNodeAddress(word)).toEqual(address);
  });

  it.each([
    "",
    "memcached",
    "memcached:",
    "memcached:0",
    "memcached:65536",
    "::1:11211",
    "a b:1",
    "user@host:1",
    "memcached:http",
  ])("parseNodeAddress() refuses '%s'", (word) => {
    expect(parseNodeAddress(word)).toBeUndefined();
  });
});
