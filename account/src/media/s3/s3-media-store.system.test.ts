// The media store on a real server of the S3 protocol, and behind a network that fails.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CreateBucketCommand, PutBucketPolicyCommand, S3Client } from "@aws-sdk/client-s3";
import { createLog, silentLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { eventually } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { S3_CREDENTIALS, type S3Server, startS3 } from "@weir/harness/servers/s3.suite";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { avatarKey } from "../media-store.ts";
import { describeMediaStore } from "../media-store.suite.ts";
import { type S3MediaOptions, S3MediaStore } from "./s3-media-store.ts";

const KEY = avatarKey("22222222-2222-4222-8222-222222222222", "0123456789abcdef0123456789abcdef", "png");
const IMAGE = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") } as const;

const folder = makeTemporaryFolder();
let server: S3Server;
let proxy: CuttingProxy;
let buckets = 0;

beforeAll(async () => {
  server = await startS3(folder.path);
  proxy = await startCuttingProxy(server.port);
});

afterAll(async () => {
  await proxy.close();
  await server.stop();
  folder.remove();
});

function optionsFor(bucket: string, endpoint = server.url): S3MediaOptions {
  const { accessKeyId, secretAccessKey } = S3_CREDENTIALS;
  return {
    endpoint,
    bucket,
    region: "us-east-1",
    credentials: { accessKeyId: new Secret(accessKeyId), secretAccessKey: new Secret(secretAccessKey) },
    publicUrl: `${endpoint}/${bucket}/`,
  };
}

/** Makes a bucket whose objects everybody may read, as an operator does. */
async function makePublicBucket(): Promise<string> {
  const bucket = `avatars-${(buckets += 1)}`;
  const client = new S3Client({
    endpoint: server.url,
    forcePathStyle: true,
    region: "us-east-1",
    credentials: S3_CREDENTIALS,
  });
  const statement = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: `arn:aws:s3:::${bucket}/*` };
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify({ Statement: [statement] }) }));
  client.destroy();
  return bucket;
}

async function openStore(options: S3MediaOptions, log = silentLog()): Promise<S3MediaStore> {
  const store = new S3MediaStore({ log }, options);
  await store.start();
  return store;
}

describeMediaStore("S3MediaStore", async () => {
  const options = optionsFor(await makePublicBucket());
  const store = await openStore(options);
  return {
    store,
    publicUrl: options.publicUrl,
    async read(key) {
      const answer = await fetch(options.publicUrl + key); // As a browser does, without credentials.
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw new Error(`${options.publicUrl}${key} answered ${answer.status}`);
      return { bytes: Buffer.from(await answer.arrayBuffer()), headers: Object.fromEntries(answer.headers) };
    },
    close() {
      store.stop();
      return Promise.resolve();
    },
  };
});

describe("S3MediaStore", () => {
  it("lists more images than one answer holds, and nothing of others", async () => {
    const options = optionsFor(await makePublicBucket());
    const store = await openStore(options);
    const keys = Array.from({ length: 1010 }, (_, index) =>
      avatarKey("22222222-2222-4222-8222-222222222222", index.toString(16).padStart(32, "0"), "png"),
    );
    for (let at = 0; at < keys.length; at += 10)
      await Promise.all(keys.slice(at, at + 10).map((key) => store.put(key, IMAGE)));
    const found = new Set<string>();
    for await (const { key } of store.list()) found.add(key);
    expect(found).toEqual(new Set(keys));
    store.stop();
  });

  it.each([
    { fault: "refuses connections", make: () => proxy.block(), maxMs: 12_000 },
    { fault: "is silent", make: () => proxy.swallow(), maxMs: 15_000 },
  ])("fails in time when the server $fault, and works again after that", async ({ make, maxMs }) => {
    const store = await openStore(optionsFor(await makePublicBucket(), `http://127.0.0.1:${proxy.port}`));
    await store.put(KEY, IMAGE);
    make();
    const startedAt = performance.now();
    const failure = { code: "media_store_unavailable", transient: true };
    await expect(store.put(KEY, IMAGE)).rejects.toMatchObject(failure);
    expect(performance.now() - startedAt).toBeLessThan(maxMs);
    proxy.restore();
    await eventually("the store to work again", () => store.put(KEY, IMAGE));
    store.stop();
  });

  it("tries a second time when the server answers with a fault, and not a third time", async () => {
    let calls = 0;
    const faulty = createServer((request, response) => {
      calls += 1;
      request.resume();
      response.writeHead(500).end();
    }).listen(0, "127.0.0.1");
    await once(faulty, "listening");
    const endpoint = `http://127.0.0.1:${(faulty.address() as AddressInfo).port}`;
    const store = await openStore(optionsFor("bucket", endpoint));
    await eventually("the check of the bucket", () => expect(calls).toBe(2));
    await expect(store.put(KEY, IMAGE)).rejects.toMatchObject({ code: "media_store_unavailable" });
    expect(calls).toBe(4);
    store.stop();
    await once(faulty.close(), "close");
  });

  it.each([
    { fault: "the bucket does not exist", options: () => optionsFor("missing") },
    {
      fault: "the secret is wrong",
      options: () => ({
        ...optionsFor("avatars-1"),
        credentials: {
          accessKeyId: new Secret(S3_CREDENTIALS.accessKeyId),
          secretAccessKey: new Secret("wrong-secret"),
        },
      }),
    },
  ])("warns at the start and fails each call when $fault, without the secret", async ({ options }) => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
    const store = await openStore(options(), log);
    const error: unknown = await store.put(KEY, IMAGE).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "media_store_unavailable" });
    await eventually("the warning", () => expect(lines).toHaveLength(1));
    expect(lines[0]).toContain("Cannot reach the media store, registrations with an avatar fail");
    expect(`${lines.join()}${String((error as Error).cause)}`).not.toMatch(/wrong-secret|weir-test-secret/);
    store.stop();
  });
});
