// Certificates for a server of a test on this machine and for its clients.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Authority, createAuthority } from "@weir/certificates/authority";
import { HOST } from "./store-server.ts";

/** Paths of PEM files, and the authority behind them. */
export interface CertificateFiles {
  readonly authority: Authority;
  readonly ca: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

/**
 * Writes an authority's certificate, one for 127.0.0.1, localhost and further names, and one for a client; the
 * latter valid for a day.
 */
export async function writeCertificates(folder: string, names: readonly string[] = []): Promise<CertificateFiles> {
  const validity = { now: new Date(), validDays: 1 } as const;
  const authority = await createAuthority({ commonName: "tests", now: validity.now, validDays: 2 });
  const server = await authority.issue({
    commonName: "server",
    ipAddresses: [HOST],
    dnsNames: ["localhost", ...names],
    usage: "server",
    ...validity,
  });
  const client = await authority.issue({
    commonName: "client",
    dnsNames: ["client.example"],
    usage: "client",
    ...validity,
  });
  const write = (name: string, pem: string): string => {
    const path = join(folder, name);
    writeFileSync(path, pem);
    return path;
  };
  return {
    authority,
    ca: write("ca.pem", authority.certPem),
    serverCert: write("server.pem", server.certPem),
    serverKey: write("server.key", server.keyPem),
    clientCert: write("client.pem", client.certPem),
    clientKey: write("client.key", client.keyPem),
  };
}

/** The certificate that the client shows, with its key, and the one that it trusts, as options of node:tls. */
export function clientMaterial(files: CertificateFiles): Readonly<Record<"ca" | "cert" | "key", Buffer>> {
  return { ca: readFileSync(files.ca), cert: readFileSync(files.clientCert), key: readFileSync(files.clientKey) };
}
