// Certificates for both ends of ADS, and calls with one answer. Only integration tests import it.
import { writeFileSync } from "node:fs";
import { createSecureContext, type SecureContext } from "node:tls";

import { Client, credentials } from "@grpc/grpc-js";
import { type Authority, type CertificatePair, createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import type { MethodDefinition } from "@weir/proto/grpc/service-definition";

/** Resolves when the condition is true; rejects with `what` when it is not in time. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(what, async () => {
    if (!(await condition())) throw new Error("in vain");
  });
}

/** Certificate and key of one end, and the authority that it trusts, PEM. */
export type TestIdentity = CertificatePair & { readonly caPem: string };

/** Certificates in a temporary folder, and the authority behind them. */
export interface TestCertificates {
  readonly authority: Authority;
  /** Paths of the server's files. */
  readonly server: { readonly certPath: string; readonly keyPath: string; readonly caPath: string };
  /** Writes another certificate for the server over the one that is there. */
  renewServer(from?: Authority): Promise<void>;
  /** A client certificate with these DNS names. */
  issueClient(dnsNames?: readonly string[], from?: Authority): Promise<TestIdentity>;
  remove(): void;
}

/** Makes an authority and a server certificate. */
export async function createTestCertificates(): Promise<TestCertificates> {
  const folder = makeTemporaryFolder();
  const { authority, serverCert, serverKey, ca } = await writeCertificates(folder.path);
  const issue = (from: Authority, usage: "server" | "client", dnsNames: readonly string[]): Promise<CertificatePair> =>
    from.issue({ commonName: usage, dnsNames, usage, now: new Date(), validDays: 1 });
  return {
    authority,
    server: { certPath: serverCert, keyPath: serverKey, caPath: ca },
    renewServer: async (from = authority) => {
      const { certPem, keyPem } = await issue(from, "server", ["localhost"]);
      writeFileSync(serverCert, certPem);
      writeFileSync(serverKey, keyPem);
    },
    issueClient: async (dnsNames = ["ratelimit"], from = authority) => ({
      ...(await issue(from, "client", dnsNames)),
      caPem: authority.certPem,
    }),
    remove: () => folder.remove(),
  };
}

/** An authority of its own. */
export async function createTestAuthority(): Promise<Authority> {
  return createAuthority({ commonName: "another authority", now: new Date(), validDays: 2 });
}

/** TLS of an identity; without one plaintext. */
export function tlsOf(identity: TestIdentity | undefined): SecureContext | undefined {
  return identity && createSecureContext({ ca: identity.caPem, key: identity.keyPem, cert: identity.certPem });
}

/** Calls a method that has one answer; rejects with the status. */
export async function callOnce<Request, Answer>(
  port: number,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Answer>,
  request: Request,
  identity?: TestIdentity,
): Promise<Answer> {
  const tls = tlsOf(identity);
  const secure = tls === undefined ? credentials.createInsecure() : credentials.createFromSecureContext(tls);
  const client = new Client(`127.0.0.1:${port}`, secure, {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.ssl_target_name_override": "localhost",
  });
  return await new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) => {
      client.close();
      if (answer === undefined) reject(error ?? new Error("Neither an answer nor an error"));
      else resolve(answer);
    });
  });
}
