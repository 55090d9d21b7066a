// Tests that everything that a test starts ends with it when it is killed, however it was started: also what the
// programs start themselves.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { eventually } from "../processes/eventually.ts";
import { childrenOf, commandOf, isRunning } from "../processes/processes.ts";
import { startProgram } from "../processes/start-process.ts";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";

const folder = makeTemporaryFolder();

afterAll(() => folder.remove());

/** Starts one of each kind, and waits until they serve. */
const RUN = `
import { join } from "node:path";
import { runCommand, startSource } from "@weir/harness/processes/programs";
import { startProcess } from "@weir/harness/processes/start-process";
import { ServerProcess } from "@weir/harness/processes/server-process";
import { startMemcached } from "@weir/harness/servers/memcached";
import { startRedis, startSentinel } from "@weir/harness/servers/redis";
const [folder] = process.argv.slice(1);
const own = { HOST: "127.0.0.1", PORT: "0", GRPC_HOST: "127.0.0.1", GRPC_PORT: "0", HTTP_HOST: "127.0.0.1", HTTP_PORT: "0" };
const more = { ADS_HOST: "127.0.0.1", ADS_PORT: "0", DEBUG_HOST: "127.0.0.1", DEBUG_PORT: "0", METRICS_PORT: "0", CONSOLE_PORT: "0" };
const env = { ...own, ...more };
const redis = await startRedis(folder);
await startSentinel(folder, redis.port);
await startMemcached(folder);
new ServerProcess({ name: "server", command: "sleep", args: ["1001"], logPath: join(folder, "log"), isGroupLeader: true }).start();
await startProcess({ name: "group", command: "sleep", args: ["1002"], env: process.env });
void runCommand("exec sleep 1003", { cwd: folder });
const limits = { ...env, WORKERS: "2", BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "tcp", REDIS_URL: redis.address };
await startSource("ratelimit/src/main.ts", { ...limits, RUNTIME_ROOT: folder, USE_STATSD: "false" }).find(/Listening for HTTP/);
await startSource("control-plane/src/main.ts", { ...env, SOURCE_DIRECTORY: folder, ADS_PLAINTEXT: "true" }).find(/is up/);
await startSource("account/src/main.ts", { ...env, DATA_DIR: join(folder, "data"), RATE_LIMIT_FAILURE: "open" }).find(/ready/);
console.log("everything runs");
setInterval(() => undefined, 1000);
`;

/** The programs, as parts of their command lines. */
const STARTED = [
  ...["redis-server", "redis-sentinel", "memcached", "sleep 1001", "sleep 1002", "sleep 1003"],
  ...["ratelimit/src/main.ts", "workers/worker", "control-plane/src/main.ts", "account/src/main.ts"],
];

describe("a test that is killed", () => {
  it("leaves no process behind", async () => {
    mkdirSync(join(folder.path, "config"));
    writeFileSync(join(folder.path, "config", "rules.yaml"), "domain: d\ndescriptors: [{key: k}]\n");
    const run = ["--conditions=source", "--input-type=module", "--eval", RUN, folder.path];
    const test = startProgram(process.execPath, run, {}, { cwd: import.meta.dirname });
    await test.find(/everything runs/);
    const started = descendantsOf(test.pid);
    for (const name of STARTED) expect(started.map(commandOf)).toContainEqual(expect.stringContaining(name));
    await test.end("SIGKILL");
    await eventually("the end of all of them", () => expect(started.filter(isRunning).map(commandOf)).toEqual([]));
  });
});

function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}
