// The listener for callers over TLS: certificates that reload, and clients that must show one.
import { copyFileSync, readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { type CertificateFiles, writeCertificates } from "@weir/harness/servers/certificate-files";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RunningService, startService } from "./running-service.suite.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;
let files: CertificateFiles;
let service: RunningService | undefined;

beforeEach(async () => {
  folder = makeTemporaryFolder();
  files = await writeCertificates(folder.path);
});

afterEach(async () => {
  await service?.stop();
  service = undefined;
  folder.remove();
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<RunningService> {
  service = await startService({ TLS_CERT: files.serverCert, TLS_KEY: files.serverKey, ...env });
  return service;
}

/** Status of /healthz, or the code of the error. */
function probe(port: number, client: { readonly cert?: Buffer; readonly key?: Buffer } = {}): Promise<number | string> {
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, path: "/healthz", ca: readFileSync(files.ca), agent: false, ...client };
    httpsRequest(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      .end();
  });
}

function serialNumber(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    }).on("error", reject);
  });
}

describe("the listener with TLS_CERT and TLS_KEY", () => {
  it("serves HTTPS, and says so in URLs", async () => {
    const { port } = await start();
    expect(await probe(port)).toBe(200);
  });

  it("shows the new certificate after the files have changed", async () => {
    const { port } = await start();
    const before = await serialNumber(port);
    const next = makeTemporaryFolder();
    try {
      const renewed = await writeCertificates(next.path);
      copyFileSync(renewed.serverKey, files.serverKey);
      copyFileSync(renewed.serverCert, files.serverCert);
    } finally {
      next.remove();
    }
    await expect.poll(() => serialNumber(port), { timeout: 40_000 }).not.toBe(before);
  });

  it("limits bodies by their pace, also within TLS", async () => {
    service = await startService(
      { TLS_CERT: files.serverCert, TLS_KEY: files.serverKey },
      { bodyPace: { firstByteMs: 5000, windowMs: 500, windowBytes: 100_000, totalMs: 60_000 } },
    );
    const socket = connect({ host: "127.0.0.1", port: service.port, ca: readFileSync(files.ca) });
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    socket.write(
      "POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 500000\r\n\r\n",
    );
    const timer = setInterval(() => socket.write("x".repeat(100)), 50);
    await new Promise((resolve) => socket.on("close", resolve));
    clearInterval(timer);
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("takes only clients with a certificate of TLS_CLIENT_CACERT", async () => {
    const { port } = await start({ TLS_CLIENT_CACERT: files.ca });
    const certificate = { cert: readFileSync(files.clientCert), key: readFileSync(files.clientKey) };
    expect(await probe(port, certificate)).toBe(200);
    expect(await probe(port)).toBe("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED");
    const other = makeTemporaryFolder();
    try {
      const foreign = await writeCertificates(other.path);
      const strange = { cert: readFileSync(foreign.clientCert), key: readFileSync(foreign.clientKey) };
      expect(await probe(port, strange)).toMatch(/^(ECONNRESET|ERR_SSL_.*UNKNOWN_CA)$/);
    } finally {
      other.remove();
    }
  });

  it("does not start with a file that is no certificate", async () => {
    await expect(startService({ TLS_CERT: join(folder.path, "none"), TLS_KEY: files.serverKey })).rejects.toMatchObject(
      {
        code: "TLS_FILE_INVALID",
      },
    );
  });
});
