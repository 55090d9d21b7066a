// Tests of the replicas that the name of a server resolves to.
import { describe, expect, it } from "vitest";

import { findTargets } from "./rollout-client.ts";

describe("findTargets()", () => {
  it.each([
    {
      server: "http://cp:8090",
      addresses: ["10.0.0.1"],
      targets: [{ label: "http://cp:8090", url: "http://cp:8090" }],
    },
    { server: "http://cp:8090", addresses: [], targets: [{ label: "http://cp:8090", url: "http://cp:8090" }] },
    { server: "http://localhost:8090", addresses: ["::1", "127.0.0.1"], targets: [{ label: "http://localhost:8090", url: "http://localhost:8090" }] }, // prettier-ignore
    {
      server: "https://cp:8090",
      addresses: ["10.0.0.1", "fd00::2"],
      targets: [
        { label: "https://cp:8090 (10.0.0.1)", url: "https://10.0.0.1:8090", named: { name: "cp", host: "cp:8090" } },
        { label: "https://cp:8090 (fd00::2)", url: "https://[fd00::2]:8090", named: { name: "cp", host: "cp:8090" } },
      ],
    },
  ])("finds $targets.length behind $server with $addresses", async ({ server, addresses, targets }) => {
    expect(await findTargets([server], { resolve: () => Promise.resolve(addresses), env: {} })).toEqual(targets);
  });

  it("leaves a name to the proxy through which it is asked, and looks up those that go without", async () => {
    const env = { HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "near" };
    const resolve = (host: string): Promise<readonly string[]> => Promise.resolve([`${host}-1`, `${host}-2`]);
    expect(await findTargets(["https://far", "https://near"], { resolve, env })).toEqual([
      { label: "https://far", url: "https://far", proxy: "http://proxy:3128" },
      { label: "https://near (near-1)", url: "https://near-1", named: { name: "near", host: "near" } },
      { label: "https://near (near-2)", url: "https://near-2", named: { name: "near", host: "near" } },
    ]);
  });

  it("sends no DNS query for an address", async () => {
    const resolve = (): Promise<never> => Promise.reject(new Error("asked"));
    expect(await findTargets(["http://127.0.0.1:1", "http://[::1]:1"], { resolve, env: {} })).toHaveLength(2);
  });
});
