// The base image that tests build upon.
import { describe, expect, it } from "vitest";
import { baseFolder, baseOf } from "./base-image.ts";

describe("baseOf()", () => {
  it.each([
    { line: "ARG BASE=docker.io/library/debian:bookworm-20260824-slim" },
    { line: `ARG BASE=docker.io/library/debian:bookworm-20260824-slim@sha256:${"0".repeat(64)}` },
  ])("is the exact tag in $line", ({ line }) => {
    expect(baseOf(`# Text\n${line}\nFROM \${BASE}\n`)).toBe("docker.io/library/debian:bookworm-20260824-slim");
  });

  it("refuses a Dockerfile without a base", () => {
    expect(() => baseOf("FROM scratch\n")).toThrow("no line ARG BASE=");
  });
});

describe("baseFolder()", () => {
  it("names the folder after the image", () => {
    expect(baseFolder("/cache", "docker.io/library/debian:12-slim", "vfs")).toBe(
      "/cache/image-base-docker.io-library-debian-12-slim-vfs",
    );
  });
});
