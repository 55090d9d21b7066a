// TLS files in the shape of grpc-js's certificate providers, so that a gRPC server or channel takes over reloaded files without a restart.
// Deliberately without an import of grpc-js: the shape is the contract, and programs without gRPC do not load it.
import type { TlsFiles, TlsMaterial } from "./tls-files.ts";

/** Hears of the authorities to trust; null says that there are none. */
export type CaCertificateListener = (update: { caCertificate: Buffer } | null) => void;

/** Hears of the process's own certificate; null says that there is none. */
export type IdentityCertificateListener = (update: { certificate: Buffer; privateKey: Buffer } | null) => void;

/** Satisfies grpc-js 1.14's `experimental.CertificateProvider`; one provider serves both for CA and for identity. */
export interface GrpcCertificateProvider {
  /** Tells the authorities in force soon after this call, and at every change. */
  addCaCertificateListener(listener: CaCertificateListener): void;
  /** Tells this listener nothing more. */
  removeCaCertificateListener(listener: CaCertificateListener): void;
  /** Tells the certificate in force soon after this call, and at every change. */
  addIdentityCertificateListener(listener: IdentityCertificateListener): void;
  /** Tells this listener nothing more. */
  removeIdentityCertificateListener(listener: IdentityCertificateListener): void;
}

/**
 * A provider over `files`, for `experimental.createCertificateProviderServerCredentials(provider, hasCa ? provider : null, hasCa)`: grpc-js 1.14
 * takes the identity provider FIRST there, although its type declaration names the two the other way round.
 */
export function createGrpcCertificateProvider(files: TlsFiles): GrpcCertificateProvider {
  const caListeners = new ListenerSet(files, caUpdateOf);
  const identityListeners = new ListenerSet(files, identityUpdateOf);
  return {
    addCaCertificateListener: (listener) => caListeners.add(listener),
    removeCaCertificateListener: (listener) => caListeners.remove(listener),
    addIdentityCertificateListener: (listener) => identityListeners.add(listener),
    removeIdentityCertificateListener: (listener) => identityListeners.remove(listener),
  };
}

/** Listeners of one kind; watches the files only while there are any, so that a closed server is not kept in memory. */
class ListenerSet<Update> {
  readonly #files: TlsFiles;
  readonly #updateOf: (material: TlsMaterial) => Update;
  readonly #listeners = new Map<(update: Update) => void, () => void>();

  constructor(files: TlsFiles, updateOf: (material: TlsMaterial) => Update) {
    this.#files = files;
    this.#updateOf = updateOf;
  }

  add(listener: (update: Update) => void): void {
    this.remove(listener);
    const unsubscribe = this.#files.onChange((material) => listener(this.#updateOf(material)));
    this.#listeners.set(listener, unsubscribe);
    // Not at once: grpc-js's server first adds itself as a listener and only then connects its socket to what the listener hears.
    process.nextTick(() => {
      if (this.#listeners.get(listener) === unsubscribe) listener(this.#updateOf(this.#files.current()));
    });
  }

  remove(listener: (update: Update) => void): void {
    this.#listeners.get(listener)?.();
    this.#listeners.delete(listener);
  }
}

function caUpdateOf({ ca }: TlsMaterial): { caCertificate: Buffer } | null {
  return ca === undefined ? null : { caCertificate: ca };
}

function identityUpdateOf({ cert, key }: TlsMaterial): { certificate: Buffer; privateKey: Buffer } | null {
  return cert === undefined || key === undefined ? null : { certificate: cert, privateKey: key };
}
