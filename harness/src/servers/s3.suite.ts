// A real server of the S3 protocol for tests: versitygw over a folder, with signatures checked.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { reservePort } from "../processes/reserve-ports.ts";
import { ServerProcess } from "../processes/server-process.ts";
import { HOST } from "./store-server.ts";
import { findTool } from "../processes/tools.ts";

/** Its version, and with it the folder that tools/test/test-setup.ts built it in. */
const VERSION = "1.8.0";

/** The one account of the server. */
export const S3_CREDENTIALS = { accessKeyId: "weir-test", secretAccessKey: "weir-test-secret-key" } as const;

/** A running S3 server. */
export interface S3Server {
  readonly process: ServerProcess;
  readonly port: number;
  /** Such as http://127.0.0.1:12345. */
  readonly url: string;
  /** Makes an empty bucket. */
  makeBucket(name: string): void;
  stop(): Promise<void>;
}

/** Starts an S3 server that keeps its objects in `folder`. */
export async function startS3(folder: string, host = HOST): Promise<S3Server> {
  const [objects, accounts] = [join(folder, "objects"), join(folder, "accounts")];
  for (const path of [objects, accounts]) mkdirSync(path, { recursive: true });
  const port = await reservePort();
  const { accessKeyId, secretAccessKey } = S3_CREDENTIALS;
  const server = new ServerProcess({
    name: "versitygw",
    command: findTool(`versitygw-${VERSION}`, "versitygw"),
    args: [
      ...["--port", `${host}:${port}`, "--access", accessKeyId, "--secret", secretAccessKey, "--quiet"],
      // Without a folder of accounts, an unknown access key answers 404 instead of 403.
      ...["--iam-dir", accounts, "--health", "/health", "posix", objects],
    ],
    logPath: join(folder, "versitygw.log"),
  });
  const url = `http://${host}:${port}`;
  await server.startAndWait(async () => {
    const { status } = await fetch(`${url}/health`);
    if (status !== 200) throw new Error(`/health answered ${status}`);
  });
  return {
    process: server,
    port,
    url,
    makeBucket: (name) => mkdirSync(join(objects, name)),
    stop: () => server.kill(),
  };
}
