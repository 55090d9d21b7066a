// The addresses of listeners by the families of the machine.
import { describe, expect, it, vi } from "vitest";

import { everyHost, loopbackHosts } from "./listen-hosts.ts";

const interfaces = vi.hoisted(() => vi.fn());
vi.mock("node:os", () => ({ networkInterfaces: interfaces }));

describe("everyHost() and loopbackHosts()", () => {
  it.each([
    { families: ["IPv4", "IPv6"], every: "::", loopback: ["127.0.0.1", "::1"] },
    { families: ["IPv4"], every: "0.0.0.0", loopback: ["127.0.0.1"] },
  ])("are $every and $loopback on a machine with $families", ({ families, every, loopback }) => {
    const lo = families.map((family) => ({ family, address: family === "IPv6" ? "::1" : "127.0.0.1" }));
    interfaces.mockReturnValue({ lo });
    expect([everyHost(), loopbackHosts()]).toEqual([every, loopback]);
  });
});
