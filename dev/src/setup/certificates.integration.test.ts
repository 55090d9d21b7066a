import { X509Certificate } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { ensureCertificates } from "./certificates.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const HOSTS = ["localhost", "127.0.0.1"];

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});
afterEach(() => folder.remove());

describe("ensureCertificates()", () => {
  it("makes an authority, a server and a client certificate, with keys only the owner can read", async () => {
    const made = await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW });
    expect(made.renewed).toEqual(["authority", "control plane", "ratelimit"]);
    const [ca, server, client] = [made.ca, made.controlPlane, made.rateLimit].map(
      ({ cert }) => new X509Certificate(readFileSync(cert)),
    );
    expect(server!.verify(ca!.publicKey)).toBe(true);
    expect(client!.verify(ca!.publicKey)).toBe(true);
    expect(server!.subjectAltName).toBe("DNS:localhost, IP Address:127.0.0.1");
    expect(client!.subjectAltName).toBe("DNS:ratelimit.weir.local");
    expect(server!.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(client!.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    for (const { key } of [made.ca, made.controlPlane, made.rateLimit]) expect(statSync(key).mode & 0o777).toBe(0o600);
  });

  it("leaves everything alone when it is still good", async () => {
    const first = await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW });
    const before = readFileSync(first.controlPlane.cert, "utf8");
    const second = await ensureCertificates(folder.path, { hostNames: HOSTS, now: new Date("2026-05-01T12:00:00Z") });
    expect(second.renewed).toEqual([]);
    expect(readFileSync(second.controlPlane.cert, "utf8")).toBe(before);
  });

  it.each([
    {
      when: "the certificates end within two weeks",
      now: "2026-05-20T12:00:00Z",
      hosts: HOSTS,
      renewed: ["control plane", "ratelimit"],
    },
    {
      when: "the authority ends soon",
      now: "2026-12-01T12:00:00Z",
      hosts: HOSTS,
      renewed: ["authority", "control plane", "ratelimit"],
    },
    {
      when: "the clock was set back before their start",
      now: "2026-02-01T12:00:00Z",
      hosts: HOSTS,
      renewed: ["authority", "control plane", "ratelimit"],
    },
    {
      when: "a host name is added",
      now: "2026-03-02T12:00:00Z",
      hosts: [...HOSTS, "weir.test"],
      renewed: ["control plane"],
    },
    { when: "a host name is gone", now: "2026-03-02T12:00:00Z", hosts: ["localhost"], renewed: ["control plane"] },
  ])("makes $renewed anew when $when", async ({ now, hosts, renewed }) => {
    await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW });
    expect((await ensureCertificates(folder.path, { hostNames: hosts, now: new Date(now) })).renewed).toEqual(renewed);
  });

  it("makes a certificate anew when its file is spoilt", async () => {
    const { rateLimit } = await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW });
    writeFileSync(rateLimit.cert, "spoilt");
    expect((await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW })).renewed).toEqual(["ratelimit"]);
  });

  it("makes a certificate anew when the key next to it belongs to another", async () => {
    const { rateLimit, controlPlane } = await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW });
    writeFileSync(rateLimit.key, readFileSync(controlPlane.key));
    expect((await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW })).renewed).toEqual(["ratelimit"]);
  });

  it("makes the certificates anew when another authority signed them", async () => {
    const { controlPlane } = await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW });
    const other = await ensureCertificates(join(folder.path, "other"), { hostNames: HOSTS, now: NOW });
    writeFileSync(controlPlane.cert, readFileSync(other.controlPlane.cert));
    writeFileSync(controlPlane.key, readFileSync(other.controlPlane.key));
    expect((await ensureCertificates(folder.path, { hostNames: HOSTS, now: NOW })).renewed).toEqual(["control plane"]);
  });
});
