// The gRPC transport on a unix socket.
import { existsSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { beforeEach, describe, expect, it } from "vitest";

import { ask, type OpenedTransport, useTransport } from "./opened-transport.suite.ts";
import { PLAIN_REQUEST } from "../transport.suite.ts";

describe("GrpcTransport on a unix socket", () => {
  let folder: string;
  let path: string;
  const { closing, client, start: startTransport } = useTransport();

  beforeEach(() => {
    const temporary = makeTemporaryFolder();
    closing.push(() => temporary.remove());
    folder = temporary.path;
    path = join(folder, "ratelimit.sock");
  });

  const start = (): Promise<OpenedTransport> => startTransport({ address: { kind: "unix", path } });

  it("answers there and removes the socket at the end", async () => {
    const { target, transport } = await start();
    expect(target).toBe(`unix:${path}`);
    expect((await ask(client(target), PLAIN_REQUEST)).kind).toBe("decision");
    await transport.stop();
    expect(existsSync(path)).toBe(false);
  });

  it("replaces a socket without a listener", async () => {
    // Renamed while open, so that closing does not remove it: what a killed process leaves behind.
    const killed = createServer();
    await new Promise<void>((resolve) => killed.listen(`${path}.old`, resolve));
    await rename(`${path}.old`, path);
    await new Promise((resolve) => killed.close(resolve));
    const { target } = await start();
    expect((await ask(client(target), PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("refuses a path with a listener, or of another file", async () => {
    await start();
    await expect(start()).rejects.toThrow(
      `Cannot listen for gRPC on ${path}: something listens there, or it is no socket; set GRPC_UDS to another path`,
    );
    path = join(folder, "file");
    await writeFile(path, "text");
    await expect(start()).rejects.toThrow(`Cannot listen for gRPC on ${path}`);
    expect(existsSync(path)).toBe(true);
  });

  it.each([
    ["in a folder that does not exist", "nowhere/weir.sock", "EACCES"],
    ["that is too long", "x".repeat(120), "EINVAL"],
  ])("refuses a path %s in words about paths", async (_case, name, code) => {
    path = join(folder, name);
    await expect(start()).rejects.toThrow(
      new RegExp(
        `^Cannot listen for gRPC on [^ ]*: listen ${code}: .*; GRPC_UDS must be a path of at most 107 bytes in a folder that exists and may be written$`,
      ),
    );
  });
});
