// A real TLS server over files that are replaced in every way that deployments replace them, and
// the certificate that a real client then sees.
import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, createServer, type Server } from "node:tls";

import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";

import { type Authority, type CertificatePair, createAuthority } from "@weir/certificates/authority";
import { createLog, type Log } from "../log/log.ts";
import { type TlsFilePaths, TlsFiles, type TlsMaterial } from "./tls-files.ts";

/** So long that a test which needs events to be seen cannot pass by polling. */
const NEVER_MS = 3_600_000;

const DEADLINE = { timeout: 40_000, interval: 20 };

let authority: Authority;
let first: CertificatePair;
let second: CertificatePair;
let folder = "";
let lines: Record<string, unknown>[] = [];
let log: Log;
/** Functions that close what a test has opened, in the order of opening. */
const closers: (() => void)[] = [];

beforeAll(async () => {
  const now = new Date();
  authority = await createAuthority({ commonName: "ca", now, validDays: 1 });
  first = await authority.issue({ commonName: "first", dnsNames: ["localhost"], usage: "server", now, validDays: 1 });
  second = await authority.issue({ commonName: "second", dnsNames: ["localhost"], usage: "server", now, validDays: 1 });
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-tls-"));
  lines = [];
  log = createLog({
    level: "debug",
    format: "json",
    write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  });
});

afterEach(() => {
  for (const close of closers.splice(0).reverse()) close();
  rmSync(folder, { recursive: true });
});

function writePair(target: string, pair: CertificatePair): void {
  writeFileSync(join(target, "tls.crt"), pair.certPem);
  writeFileSync(join(target, "tls.key"), pair.keyPem);
}

function pathsIn(target: string): TlsFilePaths & { certPath: string; keyPath: string } {
  return { certPath: join(target, "tls.crt"), keyPath: join(target, "tls.key") };
}

/** Opens and starts the files, and serves TLS with them. */
async function serve(paths: TlsFilePaths, pollIntervalMs: number): Promise<{ files: TlsFiles; server: Server }> {
  const files = new TlsFiles(paths, { log }, { pollIntervalMs });
  const server = createServer({ ...files.current() }, (socket) => socket.end());
  files.onChange((material) => server.setSecureContext({ ...material }));
  files.start();
  closers.push(
    () => files.stop(),
    () => server.close(),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { files, server };
}

/**
 * Common name of the certificate that a new connection sees; the certificate must be valid for the
 * authority.
 */
function seenName(server: Server): Promise<string> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca: authority.certPem }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

function messages(level: string): unknown[] {
  return lines.filter((line) => line["level"] === level).map((line) => line["@message"]);
}

describe("new TlsFiles() reload", () => {
  it("new TlsFiles() serves the new pair when the files are renamed into place", async () => {
    writePair(folder, first);
    const { server } = await serve(pathsIn(folder), NEVER_MS);
    expect(await seenName(server)).toBe("first");
    const staging = join(folder, "staging");
    mkdirSync(staging);
    writePair(staging, second);
    renameSync(join(staging, "tls.crt"), join(folder, "tls.crt"));
    renameSync(join(staging, "tls.key"), join(folder, "tls.key"));
    await expect.poll(() => seenName(server), DEADLINE).toBe("second");
    expect(messages("info")).toEqual(["Reloaded TLS files"]);
  });

  it("new TlsFiles() serves the new pair when a mounted Kubernetes secret swaps its link", async () => {
    // The layout of a projected volume: tls.crt -> ..data/tls.crt, ..data -> ..revision; an update
    // renames a new link over ..data.
    mkdirSync(join(folder, "..revision-1"));
    writePair(join(folder, "..revision-1"), first);
    symlinkSync("..revision-1", join(folder, "..data"));
    symlinkSync("..data/tls.crt", join(folder, "tls.crt"));
    symlinkSync("..data/tls.key", join(folder, "tls.key"));
    const { server } = await serve(pathsIn(folder), NEVER_MS);
    expect(await seenName(server)).toBe("first");
    mkdirSync(join(folder, "..revision-2"));
    writePair(join(folder, "..revision-2"), second);
    symlinkSync("..revision-2", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    rmSync(join(folder, "..revision-1"), { recursive: true });
    await expect.poll(() => seenName(server), DEADLINE).toBe("second");
    expect(messages("warning")).toEqual([]);
  });

  it("new TlsFiles() serves the new pair when the files are written in place", async () => {
    writePair(folder, first);
    const { server } = await serve(pathsIn(folder), NEVER_MS);
    writePair(folder, second);
    await expect.poll(() => seenName(server), DEADLINE).toBe("second");
  });

  it("new TlsFiles() serves the new pair by polling when a link leads to a folder that is not watched", async () => {
    const elsewhere = join(folder, "elsewhere");
    const mounted = join(folder, "mounted");
    mkdirSync(elsewhere);
    mkdirSync(mounted);
    writePair(elsewhere, first);
    symlinkSync(join(elsewhere, "tls.crt"), join(mounted, "tls.crt"));
    symlinkSync(join(elsewhere, "tls.key"), join(mounted, "tls.key"));
    const { server } = await serve(pathsIn(mounted), 50);
    writePair(elsewhere, second);
    await expect.poll(() => seenName(server), DEADLINE).toBe("second");
  });

  it("new TlsFiles() serves the new pair when the folder itself was replaced", async () => {
    const mounted = join(folder, "mounted");
    mkdirSync(mounted);
    writePair(mounted, first);
    const { server } = await serve(pathsIn(mounted), 50);
    rmSync(mounted, { recursive: true });
    mkdirSync(mounted);
    writePair(mounted, second);
    await expect.poll(() => seenName(server), DEADLINE).toBe("second");
  });

  it("new TlsFiles() keeps the old pair and says so once when the new key does not belong to the certificate", async () => {
    writePair(folder, first);
    const { server } = await serve(pathsIn(folder), 20);
    writeFileSync(join(folder, "tls.crt"), second.certPem);
    await expect
      .poll(() => messages("warning"), DEADLINE)
      .toEqual(["Cannot use the changed TLS files, the old ones stay active"]);
    expect(lines.find((line) => line["level"] === "warning")?.["error"]).toBe(
      `Cannot use the private key file ${join(folder, "tls.key")}: it does not belong to the certificate ${join(folder, "tls.crt")}`,
    );
    expect(await seenName(server)).toBe("first");
    writeFileSync(join(folder, "tls.key"), second.keyPem);
    await expect.poll(() => seenName(server), DEADLINE).toBe("second");
    expect(messages("warning")).toHaveLength(1); // Many polls have seen the bad pair meanwhile.
  });

  it("new TlsFiles() keeps the old pair when a file disappears", async () => {
    writePair(folder, first);
    const { server } = await serve(pathsIn(folder), NEVER_MS);
    rmSync(join(folder, "tls.key"));
    await expect.poll(() => messages("warning"), DEADLINE).toHaveLength(1);
    expect(await seenName(server)).toBe("first");
  });

  it("new TlsFiles() reports the new authorities when the CA file changes", async () => {
    const caPath = join(folder, "ca.crt");
    writeFileSync(caPath, authority.certPem);
    const files = new TlsFiles({ caPath }, { log }, { pollIntervalMs: NEVER_MS });
    closers.push(() => files.stop());
    const received: string[] = [];
    files.onChange(({ ca }) => received.push(new X509Certificate(ca!).subject));
    files.start();
    const next = await createAuthority({ commonName: "next", now: new Date(), validDays: 1 });
    writeFileSync(`${caPath}.new`, next.certPem);
    renameSync(`${caPath}.new`, caPath);
    await expect.poll(() => received, DEADLINE).toEqual(["CN=next"]);
  });
});

describe("new TlsFiles() edges", () => {
  it("new TlsFiles() throws immediately, naming the file, when a file is missing", () => {
    expect(() => new TlsFiles(pathsIn(folder), { log })).toThrow(
      `Cannot use the certificate file ${join(folder, "tls.crt")}: ENOENT`,
    );
  });

  it("start() takes over what changed between opening and starting", () => {
    writePair(folder, first);
    const files = new TlsFiles(pathsIn(folder), { log }, { pollIntervalMs: NEVER_MS });
    closers.push(() => files.stop());
    writePair(folder, second);
    files.start();
    expect(files.current().cert?.toString()).toBe(second.certPem);
  });

  it("reload() takes over changed files immediately and repeats its warning when they stay bad", () => {
    writePair(folder, first);
    const files = new TlsFiles(pathsIn(folder), { log });
    writePair(folder, second);
    files.reload();
    expect(files.current().cert?.toString()).toBe(second.certPem);
    writeFileSync(join(folder, "tls.crt"), "");
    files.reload();
    files.reload();
    expect(messages("warning")).toHaveLength(2);
    expect(files.current().cert?.toString()).toBe(second.certPem);
  });

  it("onChange() reaches the other listeners when one throws, and none that has left", () => {
    writePair(folder, first);
    const files = new TlsFiles(pathsIn(folder), { log });
    const received: (TlsMaterial | string)[] = [];
    files.onChange(() => {
      throw new Error("listener broke");
    });
    const leave = files.onChange(() => received.push("left"));
    files.onChange(() => received.push("stayed"));
    leave();
    writePair(folder, second);
    files.reload();
    expect(received).toEqual(["stayed"]);
    expect(messages("error")).toEqual(["Cannot apply reloaded TLS files"]);
  });

  it("stop() ends watching when files change afterwards", async () => {
    writePair(folder, first);
    const { files } = await serve(pathsIn(folder), 10);
    const others = new TlsFiles(pathsIn(folder), { log }, { pollIntervalMs: 10 });
    others.start();
    closers.push(() => others.stop());
    files.stop();
    writePair(folder, second);
    await expect.poll(() => others.current().cert?.toString(), DEADLINE).toBe(second.certPem); // The others have seen it.
    expect(files.current().cert?.toString()).toBe(first.certPem);
  });
});
