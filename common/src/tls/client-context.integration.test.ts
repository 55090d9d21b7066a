import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, getCACertificates, type Server, setDefaultCACertificates } from "node:tls";

import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { createAuthority } from "@weir/certificates/authority";
import { clientContext } from "./client-context.ts";
import type { TlsMaterial } from "./tls-material.ts";

const DAY = { now: new Date(), validDays: 1 };

describe("clientContext", () => {
  const before = getCACertificates("default");
  let ownCa: string;
  let otherCa: string;
  let identity: { readonly certPem: string; readonly keyPem: string };
  let server: Server;

  beforeAll(async () => {
    const own = await createAuthority({ commonName: "own", ...DAY });
    ownCa = own.certPem;
    otherCa = (await createAuthority({ commonName: "other", ...DAY })).certPem;
    identity = await own.issue({ commonName: "server", dnsNames: ["localhost"], usage: "server", ...DAY });
  });

  beforeEach(async () => {
    server = createServer({ cert: identity.certPem, key: identity.keyPem }, (socket) => socket.end());
    server.on("tlsClientError", () => undefined); // Clients that do not trust it are part of the tests.
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(() => {
    server.close();
    setDefaultCACertificates(before);
  });

  async function attempt(material: TlsMaterial): Promise<string> {
    const { port } = server.address() as AddressInfo;
    const socket = connect({
      host: "127.0.0.1",
      port,
      servername: "localhost",
      secureContext: clientContext(material),
    });
    try {
      await once(socket, "secureConnect");
      return "trusted";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    } finally {
      socket.destroy();
    }
  }

  it.each([
    { file: "own", pool: "public", answer: "trusted" },
    { file: "other", pool: "public", answer: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
    { file: "none", pool: "public", answer: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
    { file: "none", pool: "own", answer: "trusted" },
    { file: "other", pool: "own", answer: "trusted" },
  ])(
    "clientContext() makes a server $answer when the CA file is $file and the pool is $pool",
    async ({ file, pool, answer }) => {
      if (pool === "own") setDefaultCACertificates([...before, ownCa]);
      const ca = { own: ownCa, other: otherCa }[file];
      expect(await attempt(ca === undefined ? {} : { ca: Buffer.from(ca) })).toBe(answer);
    },
  );

  it("clientContext() makes one context per material", () => {
    const material: TlsMaterial = { ca: Buffer.from(ownCa) };
    expect(clientContext(material)).toBe(clientContext(material));
    expect(clientContext({ ...material })).not.toBe(clientContext(material));
  });
});
