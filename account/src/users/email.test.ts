import { describe, expect, it } from "vitest";
import { parseEmail } from "./email.ts";

describe("parseEmail()", () => {
  it.each([
    { text: "a@x.com", typed: "a@x.com", key: "a@x.com" },
    { text: " A@X.com ", typed: "A@X.com", key: "a@x.com" },
    { text: "a@X.COM", typed: "a@X.COM", key: "a@x.com" },
    {
      text: "first.last+tag@mail.example.co",
      typed: "first.last+tag@mail.example.co",
      key: "first.last+tag@mail.example.co",
    },
    { text: "a@bücher.example", typed: "a@bücher.example", key: "a@xn--bcher-kva.example" },
    { text: "a@bu\u0308cher.example", typed: "a@bu\u0308cher.example", key: "a@xn--bcher-kva.example" }, // The umlaut in two characters.
    { text: "a@xn--bcher-kva.example", typed: "a@xn--bcher-kva.example", key: "a@xn--bcher-kva.example" },
    { text: `${"a".repeat(64)}@x.com`, typed: `${"a".repeat(64)}@x.com`, key: `${"a".repeat(64)}@x.com` },
  ])("reads $text as $key", ({ text, typed, key }) => {
    expect(parseEmail(text)).toEqual({ typed, key });
  });

  it.each([
    { name: "nothing", text: "" },
    { name: "an invisible character", text: "A@x.com\u200b" },
    { name: "a line end", text: "a@x.com\n" },
    { name: "a quoted local part", text: '"a b"@x.com' },
    { name: "an address literal", text: "a@[127.0.0.1]" },
    { name: "an IP address as domain", text: "a@127.0.0.1" },
    { name: "a number that is an IP address", text: "a@0x7f.1" },
    { name: "a single label", text: "a@x" },
    { name: "65 characters before the @", text: `${"a".repeat(65)}@x.com` },
    {
      name: "255 characters",
      text: `a@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.${"e".repeat(60)}.${"f".repeat(9)}`,
    },
    { name: "the Kelvin sign before the @", text: "\u212Aelvin@x.com" },
    { name: "a header after a line end", text: "admin@x.com\r\nBcc: v@x.com" },
    { name: "markup", text: "a@x.com<script>" },
    { name: "two @", text: "a@b@x.com" },
    { name: "no local part", text: "@x.com" },
    { name: "a dot at the start", text: ".a@x.com" },
    { name: "two dots", text: "a..b@x.com" },
    { name: "a domain that begins with a dash", text: "a@-x.com" },
    { name: "an empty label", text: "a@x..com" },
    { name: "a trailing dot", text: "a@x.com." },
    { name: "a percent sign in the domain", text: "a@ex%61mple.com" },
    { name: "a bidi override", text: "a\u202e@x.com" },
  ])("refuses $name", ({ text }) => {
    expect(parseEmail(text)).toBeUndefined();
  });
});
