// Test equipment: certificates of a cluster under test, whose nodes are servers and clients of each
// other, and of those who count in it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority } from "@weir/certificates/authority";
import type { ClusterOptions } from "./cluster-servers.suite.ts";

/** Certificates in files of a folder of their own. */
export interface ClusterCertificates {
  /** For `startCluster`. */
  readonly options: Required<Pick<ClusterOptions, "tls" | "args">>;
  /** The certificates that a client shows and trusts, and their files. */
  readonly client: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
  readonly clientPaths: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Removes the files. */
  close(): Promise<void>;
}

/** Makes certificates for nodes on 127.0.0.1. */
export async function createClusterCertificates(): Promise<ClusterCertificates> {
  const folder = await mkdtemp(join(tmpdir(), "weir-cluster-tls-"));
  const now = new Date();
  const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
  const node = await authority.issue({
    commonName: "redis",
    ipAddresses: ["127.0.0.1"],
    usage: "server",
    now,
    validDays: 1,
  });
  const weir = await authority.issue({ commonName: "weir", usage: "client", now, validDays: 1 });
  const paths = { cert: join(folder, "node.pem"), key: join(folder, "node.key"), ca: join(folder, "ca.pem") };
  const clientPaths = { cert: join(folder, "client.pem"), key: join(folder, "client.key"), ca: paths.ca };
  await writeFile(paths.cert, node.certPem);
  await writeFile(paths.key, node.keyPem);
  await writeFile(paths.ca, authority.certPem);
  await writeFile(clientPaths.cert, weir.certPem);
  await writeFile(clientPaths.key, weir.keyPem);
  const client = { ca: Buffer.from(authority.certPem), cert: Buffer.from(weir.certPem), key: Buffer.from(weir.keyPem) };
  return {
    options: {
      tls: { ...paths, client },
      args: ["--tls-client-cert-file", clientPaths.cert, "--tls-client-key-file", clientPaths.key],
    },
    client,
    clientPaths,
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
