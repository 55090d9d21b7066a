// The files that a cluster of tests starts with: certificates, keys, tokens and kubeconfigs.
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { createAuthority } from "@weir/certificates/authority";

/** Days that its certificates last. */
const VALID_DAYS = 7;

/**
 * Writes certificates, the key of service accounts, the token and the kubeconfig; returns the
 * authority's certificate. The API server is at 127.0.0.1 and `addresses`.
 */
export async function writeClusterFiles(
  folder: string,
  apiPort: number,
  token: string,
  addresses: readonly string[] = [],
): Promise<string> {
  const now = new Date();
  const authority = await createAuthority({ commonName: "weir test cluster", now, validDays: VALID_DAYS });
  const server = await authority.issue({
    commonName: "kube-apiserver",
    dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
    ipAddresses: ["127.0.0.1", ...addresses],
    usage: "server",
    now,
    validDays: VALID_DAYS,
  });
  const accounts = generateKeyPairSync("ec", { namedCurve: "P-256" });
  mkdirSync(join(folder, "etcd"), { mode: 0o700 });
  const files: Readonly<Record<string, string>> = {
    "ca.crt": authority.certPem,
    "server.crt": server.certPem,
    "server.key": server.keyPem,
    "accounts.key": accounts.privateKey.export({ type: "sec1", format: "pem" }),
    "accounts.pub": accounts.publicKey.export({ type: "spki", format: "pem" }),
    "tokens.csv": `${token},admin,admin,"system:masters"\n`,
    kubeconfig: kubeconfigText(`https://127.0.0.1:${apiPort}`, authority.certPem, token),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return authority.certPem;
}

/** A kubeconfig, as JSON, which is YAML too; with further `fields` of its cluster. */
export function kubeconfigText(server: string, ca: string, token: string, fields: object = {}): string {
  const cluster = { server, "certificate-authority-data": Buffer.from(ca).toString("base64"), ...fields };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster }],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
  });
}
