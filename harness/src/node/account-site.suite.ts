// A site with accounts on a node with Weir: charts/weir-account with two replicas on a MongoDB server and a bucket, throttled
// by a data plane over mutual TLS, behind an Envoy that does the work of an Ingress; and the pages that call it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from "@aws-sdk/client-s3";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { type Envoy, startEnvoyWith } from "../envoy/envoy.ts";
import { ingressConfig } from "../envoy/envoy-ingress.ts";
import { CHARTS } from "../helm/helm.ts";
import { type CertificateFiles, writeCertificates } from "../servers/certificate-files.ts";
import { mongoUri, startMongo } from "../servers/mongo.ts";
import { S3_CREDENTIALS, startS3 } from "../servers/s3.suite.ts";
import { startUpstream } from "../servers/upstream.ts";
import type { NodeAccess, NodePod } from "./node-access.ts";

/** The hosts. Pages of the first may call the service; `stranger` is of the same site, `thief` is not. */
export const HOSTS = {
  app: "app.weir.test",
  account: "account.weir.test",
  media: "media.weir.test",
  stranger: "stranger.weir.test",
  thief: "thief.example",
} as const;

const BUCKET = "avatars";

/** The page of the front end, whatever the host and path. */
const PAGE = {
  body: readFileSync(join(import.meta.dirname, "account-page", "index.html")),
  type: "text/html; charset=utf-8",
};

const S3_SECRET = {
  S3_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  S3_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
};

/** Keys of a Secret; nothing outside of the test reads what they sign. */
const KEYS = {
  ACCESS_TOKEN_SECRET: "7f0b1c1e6f5a4d7c9a3e2b8d4c6f1a90",
  REFRESH_TOKEN_SECRET: "c3d9e8a1b7f2460f8e5d1a9b3c7f6e24",
  ACCOUNT_LABEL_SECRET: "1a8e5f3d7b9c4e20a6d1f8b3c5e7092d",
};

/** Namespace of the service and of its data plane. */
const NAMESPACE = "accounts";

/** Host of the data plane. */
const RATE_LIMIT_HOST = `limits.${NAMESPACE}.svc`;

/** A running site. */
export interface AccountSite {
  readonly pods: readonly [NodePod, NodePod];
  /** `host:port` at which browsers find every host. */
  readonly address: string;
  readonly certificatePath: string;
  /** Runs kubectl in the namespace. */
  kubectl(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts all of it, with the files of its servers in `folder`. */
export async function startAccountSite(node: NodeAccess, folder: string): Promise<AccountSite> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end();
  };
  try {
    const { host } = node.addresses;
    const certificates = await writeCertificates(folder, [...Object.values(HOSTS), RATE_LIMIT_HOST]);
    const [mongo, s3, page] = await Promise.all([
      startMongo(folder, { host }),
      startS3(folder, host),
      startUpstream(STACK_HOST, PAGE),
    ]);
    stops.push(
      () => mongo.stop(),
      () => s3.stop(),
      () => page.stop(),
    );
    await makePublicBucket(s3.url);
    await node.kubectl(["create", "namespace", NAMESPACE]);
    await makeSecrets(node, certificates, mongoUri(mongo.port, "weir", host));
    await node.apply(RATE_LIMIT_SERVICE);
    const values = join(folder, "values.json");
    writeFileSync(values, JSON.stringify(valuesOf(s3.url)));
    const flags = ["--values", values, "--namespace", NAMESPACE];
    await node.helm("install", "weir-account", join(CHARTS, "weir-account"), ...flags);
    const kubectl = async (...args: readonly string[]): Promise<string> =>
      await node.kubectl(["-n", NAMESPACE, ...args]);
    for (const name of ["rls/limits", "rlc/weir-account"])
      await kubectl("wait", "--for=condition=Ready", name, "--timeout=100s");
    await kubectl("rollout", "status", "deployment/weir-account", "--timeout=100s");
    const pods = await node.pods("weir-account", NAMESPACE);
    const accounts = pods.map(({ address }) => `${address}:8000`);
    const envoy = await startIngress(folder, certificates, {
      accounts,
      page: `${STACK_HOST}:${page.port}`,
      s3: new URL(s3.url).host,
    });
    stops.push(() => envoy.stop());
    return {
      pods: [pods[0]!, pods[1]!],
      address: new URL(envoy.url).host,
      certificatePath: certificates.serverCert,
      kubectl,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** With TLS, for clients with a certificate. */
const RATE_LIMIT_SERVICE = {
  apiVersion: "ratelimit.weir.dev/v1alpha1",
  kind: "RateLimitService",
  metadata: { name: "limits", namespace: NAMESPACE },
  spec: {
    replicas: 1,
    backend: { type: "memory" },
    env: [{ name: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", value: "true" }],
    tls: {
      certificateSecret: "limits-tls",
      clientCertificates: { caSecretRef: { name: "limits-tls", key: "ca.crt" } },
    },
  },
};

/** The values of an installation with two replicas. */
function valuesOf(endpoint: string): object {
  return {
    replicas: 2,
    store: { type: "mongo", mongo: { existingSecret: "account-mongo" } },
    media: {
      type: "s3",
      publicUrl: `https://${HOSTS.media}/`,
      s3: { endpoint, bucket: BUCKET, existingSecret: "account-s3" },
    },
    rateLimit: {
      address: `${RATE_LIMIT_HOST}:8081`,
      timeout: "10s", // The longest that is allowed, for a busy machine.
      tls: { enabled: true, existingSecret: "account-ratelimit", certKey: "tls.crt", keyKey: "tls.key" },
    },
    ingress: { enabled: true, hosts: [HOSTS.account] },
    corsOrigins: [`https://${HOSTS.app}`],
    trustProxy: "1",
    // Quick hashes and stops. Four hashes run and one address may have 16 that wait: all that its limit lets through.
    settings: { BCRYPT_COST: "10", BCRYPT_CONCURRENCY: "4", SHUTDOWN_DRAIN: "1s" },
    readinessProbe: { periodSeconds: 1 },
  };
}

async function makeSecrets(node: NodeAccess, files: CertificateFiles, uri: string): Promise<void> {
  const pem = (path: string): string => readFileSync(path, "utf8");
  const pair = (cert: string, key: string): object => ({
    "ca.crt": pem(files.ca),
    "tls.crt": pem(cert),
    "tls.key": pem(key),
  });
  await node.makeSecrets(NAMESPACE, {
    "weir-account-keys": KEYS,
    "account-mongo": { MONGODB_URI: uri },
    "account-s3": S3_SECRET,
    "account-ratelimit": pair(files.clientCert, files.clientKey),
    "limits-tls": pair(files.serverCert, files.serverKey),
  });
}

function startIngress(
  folder: string,
  certificates: CertificateFiles,
  { accounts, page, s3 }: { readonly accounts: readonly string[]; readonly page: string; readonly s3: string },
): Promise<Envoy> {
  const pages = [HOSTS.app, HOSTS.stranger, HOSTS.thief].map((host) => ({ host, upstreams: [page] }));
  const config = ingressConfig(
    [
      ...pages,
      { host: HOSTS.account, upstreams: accounts },
      { host: HOSTS.media, upstreams: [s3], prefix: `/${BUCKET}/` },
    ],
    { certPath: certificates.serverCert, keyPath: certificates.serverKey },
  );
  return startEnvoyWith(folder, config);
}

/** Makes the bucket, whose objects everybody may read, as docs/account.md shows. */
async function makePublicBucket(endpoint: string): Promise<void> {
  const client = new S3Client({ endpoint, forcePathStyle: true, region: "us-east-1", credentials: S3_CREDENTIALS });
  const statement = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: `arn:aws:s3:::${BUCKET}/*` };
  const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  await client.send(new PutBucketPolicyCommand({ Bucket: BUCKET, Policy }));
  client.destroy();
}
