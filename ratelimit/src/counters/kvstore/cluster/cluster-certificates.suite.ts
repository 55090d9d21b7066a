// Test equipment: certificates of a cluster under test, whose nodes are servers and clients of each
// other, and of those who count in it.
import { readFileSync } from "node:fs";

import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { writeCertificates } from "@weir/harness/servers/certificate-files";

import type { ClusterOptions } from "./cluster-servers.suite.ts";

/** Certificates in files of a folder of their own. */
export interface ClusterCertificates {
  /** For `startCluster`. */
  readonly options: Required<Pick<ClusterOptions, "tls" | "args">>;
  /** The certificates that a client shows and trusts, and their files. */
  readonly client: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
  readonly clientPaths: { readonly ca: string; readonly cert: string; readonly key: string };
  /** Removes the files. */
  close(): void;
}

/** Makes certificates for nodes on 127.0.0.1. */
export async function createClusterCertificates(): Promise<ClusterCertificates> {
  const folder = makeTemporaryFolder();
  const { ca, serverCert, serverKey, clientCert, clientKey } = await writeCertificates(folder.path);
  const client = { ca: readFileSync(ca), cert: readFileSync(clientCert), key: readFileSync(clientKey) };
  return {
    options: {
      tls: { ca, cert: serverCert, key: serverKey, client },
      args: ["--tls-client-cert-file", clientCert, "--tls-client-key-file", clientKey],
    },
    client,
    clientPaths: { ca, cert: clientCert, key: clientKey },
    close: () => folder.remove(),
  };
}
