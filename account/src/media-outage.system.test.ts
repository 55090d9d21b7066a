// Registrations with their avatars in a bucket, and while the bucket cannot be reached.
import { eventually } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { S3_CREDENTIALS, type S3Server, startS3 } from "@weir/harness/servers/s3.suite";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningService, startService, USER } from "./running-service.suite.ts";

const BUCKET = "avatars";

const folder = makeTemporaryFolder();
let server: S3Server;
let proxy: CuttingProxy;
let service: RunningService;

beforeAll(async () => {
  server = await startS3(folder.path);
  server.makeBucket(BUCKET);
  proxy = await startCuttingProxy(server.port);
  service = await startService({
    MEDIA: "s3",
    S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
    S3_BUCKET: BUCKET,
    S3_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    S3_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
  });
});

afterAll(async () => {
  await service.stop();
  await proxy.close();
  await server.stop();
  folder.remove();
});

/** The log lines at warning and above since `from`. */
function complaints(from: number): readonly string[] {
  return service.logLines.slice(from).filter((line) => !/"level":"(debug|info)"/.test(line));
}

describe("registrations with a bucket", () => {
  it("store the avatar there and answer its URL", async () => {
    const answer = await service.register();
    const { avatar = "" } = answer.json["user"] as Record<string, string>;
    const prefix = `http://127.0.0.1:${proxy.port}/${BUCKET}/avatars/`;
    expect([answer.status, avatar.startsWith(prefix)]).toEqual([201, true]);
    expect((await service.call({ path: new URL(avatar).pathname.replace(BUCKET, "media") })).status).toBe(404);
  });

  it.each([
    { fault: "refuses connections", make: () => proxy.block() },
    { fault: "is silent", make: () => proxy.swallow() },
  ])("fail within 5 s while the bucket $fault, and nothing else does", async ({ make }) => {
    make();
    const before = service.logLines.length;
    const startedAt = performance.now();
    const user = { ...USER, email: "b@x.com" };
    const answer = await service.register(user);
    expect([answer.status, answer.json["code"], answer.headers["retry-after"]]).toEqual([
      503,
      "media_store_unavailable",
      "2",
    ]);
    expect(performance.now() - startedAt).toBeLessThan(5000);
    expect(complaints(before)).toHaveLength(1);
    expect(service.logLines.join("")).not.toContain(S3_CREDENTIALS.secretAccessKey);
    expect((await service.call({ path: "/readyz" })).status).toBe(200);
    expect((await service.login()).status).toBe(200);
    expect((await service.login(user)).status).toBe(401);
    proxy.restore();
  });

  it("work again when the bucket does", async () => {
    await eventually("a registration", async () => {
      expect((await service.register({ ...USER, email: "c@x.com" })).status).toBe(201);
    });
  });
});
