import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { describeStack, guideSteps, SAMPLE_AVATAR } from "./guide.ts";

const PLACE = {
  ports: {
    ads: 18000,
    controlPlaneHttp: 8090,
    controlPlaneConsole: 8092,
    rateLimitGrpc: 8081,
    rateLimitHttp: 8080,
    rateLimitDebug: 6070,
    rateLimitMetrics: 9090,
    accountHttp: 8000,
    accountMetrics: 9464,
  },
  sourceDirectory: "examples/limits",
  runDirectory: ".run",
};

describe("describeStack()", () => {
  it("lists what runs at which address", () => {
    const page = describeStack(PLACE).split("\n");
    expect(page.slice(1, 14)).toEqual([
      "Running on this machine",
      "  control plane  manifests        examples/limits",
      "                 console          http://127.0.0.1:8092/",
      "                 weir top         -s 127.0.0.1:8092",
      "                 ADS, mutual TLS  127.0.0.1:18000",
      "  rate limit     gRPC for Envoy   127.0.0.1:8081",
      "                 HTTP             http://127.0.0.1:8080/json",
      "                 active rules     http://127.0.0.1:6070/rlconfig",
      "                 metrics          http://127.0.0.1:9090/metrics",
      "  account        page             http://localhost:8000/",
      "                 mails            .run/logs/weir-account.log",
      "                 HTTP             http://localhost:8000/api/v1/user",
      "                 metrics          http://127.0.0.1:9464/metrics",
    ]);
  });
});

describe("guideSteps()", () => {
  it("writes commands that can be pasted as they are", () => {
    const commands = guideSteps(PLACE).flatMap((step) => step.commands);
    expect(commands).toHaveLength(11);
    expect(commands[1]).toBe(
      "node_modules/.bin/weir-client -dial_string 127.0.0.1:8081 -domain api -descriptors plan=gold,user=1815",
    );
    expect(commands[7]).toBe("curl -s -w '\\n' http://localhost:8000/api/v1/user/current-user -b .run/cookies");
  });

  it("quotes a path that a shell would take apart", () => {
    const commands = guideSteps({ ...PLACE, sourceDirectory: "/home/o'neil/my limits" }).flatMap(
      (step) => step.commands,
    );
    expect(commands[2]).toBe(
      "perl -pi -e 's/requestsPerUnit: 2$/requestsPerUnit: 5/' '/home/o'\\''neil/my limits/login-protection.yaml'",
    );
  });
});

describe("SAMPLE_AVATAR", () => {
  it("is a PNG of 64 by 64 pixels that ends with its end marker", () => {
    const png = SAMPLE_AVATAR;
    expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    expect(png.toString("latin1", 12, 16)).toBe("IHDR");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([64, 64]);
    expect(png.subarray(-12).toString("hex")).toBe("0000000049454e44ae426082"); // The IEND chunk is the same in every PNG.
  });

  it("holds a full row of pixels with filter 0 for each line", () => {
    const png = SAMPLE_AVATAR;
    const length = png.readUInt32BE(33);
    expect(png.toString("latin1", 37, 41)).toBe("IDAT");
    const pixels = inflateSync(png.subarray(41, 41 + length));
    expect(pixels.length).toBe(64 * (1 + 64 * 3));
    expect(Array.from({ length: 64 }, (_, row) => pixels[row * 193]).every((filter) => filter === 0)).toBe(true);
    expect([...pixels.subarray(1, 4)]).toEqual([0x2b, 0x6c, 0xb0]);
  });
});
