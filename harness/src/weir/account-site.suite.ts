// A site with accounts, as charts/weir-account describes it: two replicas on a MongoDB server and a bucket, throttled
// by a rate limit pod that has the chart's limits, behind an Ingress; and the pages that call it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from "@aws-sdk/client-s3";
import { renderChart } from "../helm/render.ts";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { reservePort } from "../processes/reserve-ports.ts";
import { type CertificateFiles, writeCertificates } from "../servers/certificate-files.ts";
import { mongoUri, startMongo } from "../servers/mongo.ts";
import { S3_CREDENTIALS, startS3 } from "../servers/s3.suite.ts";
import { stringify } from "yaml";
import { type Envoy, startEnvoyWith } from "../envoy/envoy.ts";
import { ingressConfig } from "../envoy/envoy-ingress.ts";
import { startWeir } from "./weir.ts";
import { startPlanned } from "../processes/programs.ts";
import { type PodPlace, type RenderedPod, startRenderedPods } from "./rendered-pods.ts";

/** The hosts. Pages of the first may call the service; `stranger` is of the same site, `thief` is not. */
export const HOSTS = {
  app: "app.weir.test",
  account: "account.weir.test",
  media: "media.weir.test",
  stranger: "stranger.weir.test",
  thief: "thief.example",
} as const;

const BUCKET = "avatars";

/** How long a pod may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

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

/** A running site. */
export interface AccountSite {
  readonly pods: readonly RenderedPod[];
  /** `host:port` at which browsers find every host. */
  readonly address: string;
  readonly certificatePath: string;
  /** Stops the first pod as a rollout does. */
  stopFirst(): Promise<void>;
  /** Replaces the program of a pod by that of the checkout at `root`. */
  replace(pod: RenderedPod, root: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts all of it in `folder`. */
export async function startAccountSite(folder: string): Promise<AccountSite> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.toReversed()) await end();
  };
  try {
    const certificates = await writeCertificates(folder, Object.values(HOSTS));
    const [mongo, s3, page, grpcPort] = await Promise.all([
      startMongo(folder),
      startS3(folder),
      startPage(),
      reservePort(),
    ]);
    stops.push(
      () => mongo.stop(),
      () => s3.stop(),
      () => page.stop(),
    );
    await makePublicBucket(s3.url);
    const chart = await renderChart({ chart: "weir-account", values: valuesOf({ endpoint: s3.url, grpcPort }) });
    const limits = { "account.yaml": stringify(chart.only("RateLimitConfig")) };
    const flow = await startWeir(folder, { manifests: limits });
    stops.push(() => flow.stop());
    await flow.startPod(rateLimitEnv(certificates, grpcPort));
    const deployment = chart.only("Deployment");
    const place = placeOf(folder, { certificates, uri: mongoUri(mongo.port) });
    const pods = await startRenderedPods(deployment, place);
    const stopPod = ({ process }: RenderedPod): Promise<unknown> => process.stop("SIGTERM", STOP_GRACE_MS);
    stops.push(() => Promise.all(pods.map(stopPod)));
    const accounts = pods.map((pod) => pod.at("http"));
    const envoy = await startIngress(folder, certificates, { accounts, page: page.address, s3: new URL(s3.url).host });
    stops.push(() => envoy.stop());
    return {
      pods,
      address: new URL(envoy.url).host,
      certificatePath: certificates.serverCert,
      stopFirst: async () => {
        await stopPod(pods[0]!);
      },
      replace: async (pod, root) => {
        await stopPod(pod);
        pod.process = await startPlanned(pod.plan, root);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The values of an installation with two replicas. */
function valuesOf({ endpoint, grpcPort }: { readonly endpoint: string; readonly grpcPort: number }): object {
  return {
    replicas: 2,
    store: { type: "mongo", mongo: { existingSecret: "weir-account-mongo" } },
    media: {
      type: "s3",
      publicUrl: `https://${HOSTS.media}/`,
      s3: { endpoint, bucket: BUCKET, existingSecret: "weir-account-s3" },
    },
    rateLimit: {
      address: `localhost:${grpcPort}`,
      timeout: "10s", // The longest that is allowed, for a busy machine.
      tls: { enabled: true, existingSecret: "weir-account-ratelimit", certKey: "tls.crt", keyKey: "tls.key" },
    },
    ingress: { enabled: true, hosts: [HOSTS.account] },
    corsOrigins: [`https://${HOSTS.app}`],
    trustProxy: "1",
    // Quick hashes and stops.
    settings: { BCRYPT_COST: "10", SHUTDOWN_DRAIN: "1s" },
  };
}

function placeOf(
  folder: string,
  { certificates, uri }: { readonly certificates: CertificateFiles; readonly uri: string },
): PodPlace {
  const pem = (path: string): string => readFileSync(path, "utf8");
  return {
    folder: join(folder, "pods"),
    hostVariables: ["HOST", "METRICS_HOST"],
    secrets: {
      "weir-account-keys": KEYS,
      "weir-account-mongo": { MONGODB_URI: uri },
      "weir-account-s3": S3_SECRET,
      "weir-account-ratelimit": {
        "ca.crt": pem(certificates.ca),
        "tls.crt": pem(certificates.clientCert),
        "tls.key": pem(certificates.clientKey),
      },
    },
  };
}

function rateLimitEnv(certificates: CertificateFiles, grpcPort: number): Record<string, string> {
  return {
    GRPC_PORT: String(grpcPort),
    GRPC_SERVER_USE_TLS: "true",
    GRPC_SERVER_TLS_CERT: certificates.serverCert,
    GRPC_SERVER_TLS_KEY: certificates.serverKey,
    GRPC_CLIENT_TLS_CACERT: certificates.ca,
  };
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

/** Serves the page of the front end, whatever the host and path. */
async function startPage(): Promise<{ readonly address: string; stop(): Promise<unknown> }> {
  const html = readFileSync(join(import.meta.dirname, "account-page", "index.html"));
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => {
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(html);
  });
  await once(server.listen(0, STACK_HOST), "listening");
  return {
    address: `${STACK_HOST}:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
