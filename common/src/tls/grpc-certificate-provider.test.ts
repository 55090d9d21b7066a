// The order of calls that grpc-js relies on: never inside add, then at every change, never after remove.
import { describe, expect, it } from "vitest";

import { createGrpcCertificateProvider } from "./grpc-certificate-provider.ts";
import type { TlsFiles, TlsMaterial } from "./tls-files.ts";

const pair = { cert: Buffer.from("cert"), key: Buffer.from("key") };
const ca = Buffer.from("ca");

/** TLS files that change when a test says so, and know how many listen. */
class FakeTlsFiles implements TlsFiles {
  readonly name = "TLS files";
  readonly listeners = new Set<(material: TlsMaterial) => void>();
  material: TlsMaterial;

  constructor(material: TlsMaterial) {
    this.material = material;
  }

  start(): void {}

  stop(): void {}

  reload(): void {}

  current(): TlsMaterial {
    return this.material;
  }

  onChange(listener: (material: TlsMaterial) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  change(material: TlsMaterial): void {
    this.material = material;
    for (const listener of this.listeners) listener(material);
  }
}

const nextTick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

describe("createGrpcCertificateProvider()", () => {
  it("createGrpcCertificateProvider() tells what is in force in the next tick when a listener is added", async () => {
    const provider = createGrpcCertificateProvider(new FakeTlsFiles({ ...pair, ca }));
    const heard: unknown[] = [];
    provider.addIdentityCertificateListener((update) => heard.push(update));
    provider.addCaCertificateListener((update) => heard.push(update));
    expect(heard).toEqual([]);
    await nextTick();
    expect(heard).toEqual([{ certificate: pair.cert, privateKey: pair.key }, { caCertificate: ca }]);
  });

  it("createGrpcCertificateProvider() tells null when there is no such file", async () => {
    const provider = createGrpcCertificateProvider(new FakeTlsFiles({}));
    const heard: unknown[] = [];
    provider.addIdentityCertificateListener((update) => heard.push(update));
    provider.addCaCertificateListener((update) => heard.push(update));
    await nextTick();
    expect(heard).toEqual([null, null]);
  });

  it("createGrpcCertificateProvider() tells every change when files change", async () => {
    const files = new FakeTlsFiles(pair);
    const provider = createGrpcCertificateProvider(files);
    const heard: unknown[] = [];
    provider.addIdentityCertificateListener((update) => heard.push(update?.certificate.toString()));
    await nextTick();
    files.change({ cert: Buffer.from("new"), key: Buffer.from("new key") });
    expect(heard).toEqual(["cert", "new"]);
  });

  it("createGrpcCertificateProvider() tells nothing more and lets go of the files when a listener is removed", async () => {
    const files = new FakeTlsFiles(pair);
    const provider = createGrpcCertificateProvider(files);
    const heard: unknown[] = [];
    const listener = (update: unknown): void => void heard.push(update);
    provider.addIdentityCertificateListener(listener);
    provider.addCaCertificateListener(listener);
    provider.removeIdentityCertificateListener(listener);
    provider.removeCaCertificateListener(listener);
    await nextTick();
    files.change({ ...pair, ca });
    expect(heard).toEqual([]);
    expect(files.listeners.size).toBe(0);
  });

  it("createGrpcCertificateProvider() tells each change once when a listener is added twice", async () => {
    const files = new FakeTlsFiles(pair);
    const provider = createGrpcCertificateProvider(files);
    const heard: unknown[] = [];
    const listener = (update: { caCertificate: Buffer } | null): void => void heard.push(update);
    provider.addCaCertificateListener(listener);
    provider.addCaCertificateListener(listener);
    await nextTick();
    files.change({ ca });
    expect(heard).toEqual([null, { caCertificate: ca }]);
  });
});
