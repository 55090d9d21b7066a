// Tests of proxy.ts: which proxy the environment names for which server.
import { describe, expect, it } from "vitest";

import { proxyFor, proxyName, proxyProblem } from "./proxy.ts";

const PROXY = "http://proxy.example:3128";

describe("proxyFor()", () => {
  it.each([
    { server: "https://cp.example", env: {}, proxy: undefined },
    { server: "https://cp.example", env: { HTTPS_PROXY: PROXY }, proxy: PROXY },
    { server: "https://cp.example", env: { https_proxy: PROXY }, proxy: PROXY },
    { server: "https://cp.example", env: { HTTPS_PROXY: "", https_proxy: PROXY }, proxy: PROXY },
    { server: "https://cp.example", env: { HTTPS_PROXY: "proxy.example:3128" }, proxy: PROXY },
    { server: "https://cp.example", env: { HTTP_PROXY: PROXY }, proxy: undefined },
    { server: "http://cp.example", env: { HTTP_PROXY: PROXY }, proxy: PROXY },
    { server: "http://cp.example", env: { HTTPS_PROXY: PROXY }, proxy: undefined },
    { server: "https://localhost:8090", env: { HTTPS_PROXY: PROXY }, proxy: undefined },
    { server: "http://127.0.0.1:8090", env: { HTTP_PROXY: PROXY }, proxy: undefined },
    { server: "http://[::1]:8090", env: { HTTP_PROXY: PROXY }, proxy: undefined },
  ])("gives $proxy for $server with $env", ({ server, env, proxy }) => {
    expect(proxyFor(server, env)).toBe(proxy);
  });

  it.each([
    { server: "https://cp.example", exceptions: "*", isExcepted: true },
    { server: "https://cp.example", exceptions: " other.example , CP.example ", isExcepted: true },
    { server: "https://a.cp.example", exceptions: "cp.example", isExcepted: true },
    { server: "https://a.cp.example", exceptions: ".cp.example", isExcepted: true },
    { server: "https://a.cp.example", exceptions: "*.cp.example", isExcepted: true },
    { server: "https://cp.example", exceptions: ".cp.example", isExcepted: false },
    { server: "https://xcp.example", exceptions: "cp.example", isExcepted: false },
    { server: "https://cp.example", exceptions: "", isExcepted: false },
    { server: "https://cp.example", exceptions: ",", isExcepted: false },
    { server: "https://cp.example:8443", exceptions: "cp.example:8443", isExcepted: true },
    { server: "https://cp.example", exceptions: "cp.example:443", isExcepted: true },
    { server: "https://cp.example", exceptions: "cp.example:8443", isExcepted: false },
    { server: "https://10.1.2.3", exceptions: "10.1.2.3", isExcepted: true },
    { server: "https://10.1.2.3:8443", exceptions: "10.1.2.3:443", isExcepted: false },
    { server: "https://10.1.2.3", exceptions: "192.168.0.0/16,10.0.0.0/8", isExcepted: true },
    { server: "https://10.1.2.3", exceptions: "10.2.0.0/16", isExcepted: false },
    { server: "https://10.1.2.3", exceptions: "10.0.0.0/33", isExcepted: false },
    { server: "https://10.1.2.3", exceptions: "2.3", isExcepted: false },
    { server: "https://[fd00::1]", exceptions: "fd00::1", isExcepted: true },
    { server: "https://[fd00::1]:8443", exceptions: "[fd00:0::1]:8443", isExcepted: true },
    { server: "https://[fd00::1]", exceptions: "fd00::/8", isExcepted: true },
    { server: "https://[fd00::1]", exceptions: "10.0.0.0/8", isExcepted: false },
    { server: "https://cp.example", exceptions: "10.0.0.0/8", isExcepted: false },
  ])(
    "goes without a proxy to $server: $isExcepted, when NO_PROXY is '$exceptions'",
    ({ server, exceptions, isExcepted }) => {
      for (const name of ["NO_PROXY", "no_proxy"]) {
        expect(proxyFor(server, { HTTPS_PROXY: PROXY, [name]: exceptions })).toBe(isExcepted ? undefined : PROXY);
      }
    },
  );
});

describe("proxyProblem()", () => {
  it.each([
    { env: {}, problem: undefined },
    { env: { HTTPS_PROXY: "https://user:secret@proxy.example" }, problem: undefined },
    {
      env: { HTTPS_PROXY: "socks5://secret@proxy.example" },
      problem: "HTTPS_PROXY must be a URL with http:// or https://, has socks5://",
    },
    {
      env: { https_proxy: "http://secret:x:y" },
      problem: "https_proxy must be a URL with http:// or https://, has no valid host",
    },
    { env: { HTTPS_PROXY: "HTTP://us%40er:50%25@proxy.example" }, problem: undefined },
    {
      env: { HTTPS_PROXY: "http://user:50%secret@proxy.example" },
      problem: "HTTPS_PROXY must be a URL with http:// or https://, has a % in user or password that should be %25",
    },
    {
      env: { HTTPS_PROXY: "http://us%ffer@proxy.example" },
      problem: "HTTPS_PROXY must be a URL with http:// or https://, has a % in user or password that should be %25",
    },
    { env: { HTTPS_PROXY: "socks5://proxy.example", NO_PROXY: "example" }, problem: undefined },
  ])("gives $problem for $env", ({ env, problem }) => {
    expect(proxyProblem(["https://cp.example"], env)).toBe(problem);
  });
});

describe("proxyName()", () => {
  it("leaves the password out", () => {
    expect(proxyName("http://user:secret@proxy.example:3128/")).toBe("http://proxy.example:3128");
  });
});
