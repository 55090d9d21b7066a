// Real files, good and bad: each refusal names its file and says why.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createAuthority } from "@weir/certificates/authority";
import { checkTlsMaterial, readTlsMaterial, type TlsFilePaths } from "./tls-material.ts";

let folder = "";

/** The path of a file in the test's folder. */
function at(name: string): string {
  return join(folder, name);
}

function readAndCheck(paths: TlsFilePaths): void {
  checkTlsMaterial(readTlsMaterial(paths), paths);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "weir-tls-"));
  const now = new Date();
  const authority = await createAuthority({ commonName: "ca", now, validDays: 1 });
  const server = await authority.issue({ commonName: "a", dnsNames: ["a"], usage: "server", now, validDays: 1 });
  const other = await authority.issue({ commonName: "b", dnsNames: ["b"], usage: "server", now, validDays: 1 });
  writeFileSync(at("ca.crt"), authority.certPem);
  writeFileSync(at("bundle.crt"), `# two authorities\n${authority.certPem}\n${authority.certPem}`);
  writeFileSync(at("tls.crt"), server.certPem);
  writeFileSync(at("chain.crt"), server.certPem + authority.certPem);
  writeFileSync(at("tls.key"), server.keyPem);
  writeFileSync(at("other.key"), other.keyPem);
  writeFileSync(at("empty.crt"), "");
  writeFileSync(at("text.crt"), "not a certificate\n");
  writeFileSync(at("half.crt"), server.certPem.slice(0, 200));
  writeFileSync(at("broken.crt"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  writeFileSync(
    at("second-broken.crt"),
    `${authority.certPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  );
  writeFileSync(at("huge.crt"), Buffer.alloc(2 * 1024 * 1024 + 1, "\n"));
  mkdirSync(at("folder.crt"));
  chmodSync(at("tls.key"), 0o600);
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe("readTlsMaterial() and checkTlsMaterial()", () => {
  it.each<{ files: TlsFilePaths }>([
    { files: {} },
    { files: { certPath: "tls.crt", keyPath: "tls.key" } },
    { files: { certPath: "chain.crt", keyPath: "tls.key", caPath: "ca.crt" } },
    { files: { caPath: "bundle.crt" } },
  ])("checkTlsMaterial() accepts $files", ({ files }) => {
    const paths = Object.fromEntries(Object.entries(files).map(([key, name]) => [key, at(String(name))]));
    expect(() => readAndCheck(paths)).not.toThrow();
  });

  it.each<{ files: TlsFilePaths; file: string; what: string; reason: string }>([
    {
      files: { certPath: "none.crt", keyPath: "tls.key" },
      what: "certificate",
      file: "none.crt",
      reason: "ENOENT: no such file or directory",
    },
    { files: { certPath: "tls.crt" }, what: "certificate", file: "tls.crt", reason: "no private key is given for it" },
    { files: { keyPath: "tls.key" }, what: "private key", file: "tls.key", reason: "no certificate is given for it" },
    {
      files: { certPath: "empty.crt", keyPath: "tls.key" },
      what: "certificate",
      file: "empty.crt",
      reason: "the file is empty",
    },
    {
      files: { certPath: "text.crt", keyPath: "tls.key" },
      what: "certificate",
      file: "text.crt",
      reason: "it holds no PEM block BEGIN CERTIFICATE",
    },
    {
      files: { certPath: "half.crt", keyPath: "tls.key" },
      what: "certificate",
      file: "half.crt",
      reason: "it holds no PEM block BEGIN CERTIFICATE",
    },
    {
      files: { certPath: "broken.crt", keyPath: "tls.key" },
      what: "certificate",
      file: "broken.crt",
      reason: "certificate number 1 in it does not parse",
    },
    {
      files: { certPath: "tls.crt", keyPath: "text.crt" },
      what: "private key",
      file: "text.crt",
      reason: "it is not a PEM private key without passphrase",
    },
    {
      files: { certPath: "tls.crt", keyPath: "other.key" },
      what: "private key",
      file: "other.key",
      reason: "it does not belong to the certificate ",
    },
    {
      files: { caPath: "text.crt" },
      what: "CA certificate",
      file: "text.crt",
      reason: "it holds no PEM block BEGIN CERTIFICATE",
    },
    {
      files: { caPath: "second-broken.crt" },
      what: "CA certificate",
      file: "second-broken.crt",
      reason: "certificate number 2 in it does not parse",
    },
    {
      files: { caPath: "huge.crt" },
      what: "CA certificate",
      file: "huge.crt",
      reason: "it is larger than 2097152 bytes, current size is 2097153",
    },
    { files: { caPath: "folder.crt" }, what: "CA certificate", file: "folder.crt", reason: "it is not a file" },
  ])("readTlsMaterial() or checkTlsMaterial() refuses $files because $reason", ({ files, what, file, reason }) => {
    const paths = Object.fromEntries(Object.entries(files).map(([key, name]) => [key, at(String(name))]));
    expect(() => readAndCheck(paths)).toThrow(
      expect.objectContaining({
        code: "TLS_FILE_INVALID",
        message: expect.stringContaining(`Cannot use the ${what} file ${at(file)}: ${reason}`),
      }),
    );
  });
});
