// The gRPC transport over TLS: its own certificate, and those of its clients, of which
// only those with the name of GRPC_CLIENT_TLS_SAN, and of the present authority, are let in.
import { once } from "node:events";
import { rename, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { connect as tlsConnect, type TLSSocket } from "node:tls";

import { type Client, credentials } from "@grpc/grpc-js";
import { createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { openingBytes } from "@weir/harness/http2/http2-frames";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type CertificateFiles, clientMaterial, writeCertificates } from "@weir/harness/servers/certificate-files";
import { beforeEach, describe, expect, it } from "vitest";

import { ask, type OpenedTransport, useTransport, WAIT } from "./opened-transport.suite.ts";
import { PLAIN_REQUEST } from "../transport.suite.ts";

/** Names in a certificate. */
interface Names {
  readonly commonName: string;
  readonly dnsNames?: readonly string[];
  readonly uris?: readonly string[];
}

describe("GrpcTransport over TLS", () => {
  const { closing, client, start: startTransport } = useTransport();
  const validity = { now: new Date(), validDays: 1 };
  let certificates: CertificateFiles;

  beforeEach(async () => {
    const folder = makeTemporaryFolder();
    closing.push(() => folder.remove());
    certificates = await writeCertificates(folder.path);
  });

  async function start({
    withClients = false,
    ...tls
  }: { withClients?: boolean; clientName?: string; handshakeTimeoutMs?: number } = {}): Promise<OpenedTransport> {
    const { serverCert: certPath, serverKey: keyPath, ca: caPath } = certificates;
    const paths = { certPath, keyPath, ...(withClients && { caPath }) };
    const files = new TlsFiles(paths, { log: silentLog() }, { pollIntervalMs: 50 });
    closing.push(() => files.stop());
    files.start();
    return await startTransport({ tls: { files, clientName: undefined, ...tls } });
  }

  /** A client with a certificate of `by`, or without one. */
  async function clientOf(target: string, names?: Names, by = certificates.authority): Promise<Client> {
    const ca = Buffer.from(certificates.authority.certPem);
    if (names === undefined) return client(target, credentials.createSsl(ca));
    const { keyPem, certPem } = await by.issue({ ...names, usage: "client", ...validity });
    return client(target, credentials.createSsl(ca, Buffer.from(keyPem), Buffer.from(certPem)));
  }

  function handshake(target: string, session?: Buffer): TLSSocket {
    const { hostname: host, port } = new URL(`tcp://${target}`);
    const options = { host, port: Number(port), servername: "localhost", ALPNProtocols: ["h2"], session };
    return tlsConnect({ ...options, ...clientMaterial(certificates), ca: certificates.authority.certPem });
  }

  it("closes a connection whose handshake does not come (half-open connections)", async () => {
    const { target } = await start({ handshakeTimeoutMs: 50 });
    const socket = connect(Number(new URL(`tcp://${target}`).port), "127.0.0.1");
    socket.resume();
    await once(socket, "close");
    expect(socket.bytesRead).toBe(0);
  });

  it("answers clients that trust its authority", async () => {
    const { target } = await start();
    expect((await ask(await clientOf(target), PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("shows the new certificate once the files were replaced by rename, while old connections stay (case 201)", async () => {
    const { target } = await start();
    const old = await clientOf(target);
    await ask(old, PLAIN_REQUEST);
    const shownName = async (): Promise<string> => {
      const socket = handshake(target);
      await once(socket, "secureConnect");
      const { CN: name } = socket.getPeerCertificate().subject;
      socket.destroy();
      return String(name);
    };
    expect(await shownName()).toBe("server");
    const { authority, serverCert, serverKey } = certificates;
    const names = { commonName: "second.example", dnsNames: ["second.example", "localhost"] };
    const next = await authority.issue({ ...names, usage: "server", ...validity });
    for (const [path, pem] of [[serverKey, next.keyPem] as const, [serverCert, next.certPem] as const]) {
      await writeFile(`${path}.next`, pem);
      await rename(`${path}.next`, path);
    }
    await expect.poll(shownName, WAIT).toBe("second.example");
    expect((await ask(old, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it.each<[what: string, names: Names | undefined, calls: number]>([
    ["the name itself", { commonName: "x", dnsNames: ["envoy.weir.example"] }, 1],
    ["a wildcard over it", { commonName: "x", dnsNames: ["*.weir.example"] }, 1],
    ["only a common name", { commonName: "envoy.weir.example" }, 0],
    ["a common name, and a URI", { commonName: "envoy.weir.example", uris: ["spiffe://weir/envoy"] }, 0],
    ["a longer name", { commonName: "x", dnsNames: ["envoy.weir.example.org"] }, 0],
    ["another name", { commonName: "x", dnsNames: ["other.weir.example"] }, 0],
    ["no names: there is none", undefined, 0],
  ])("GRPC_CLIENT_TLS_SAN and a certificate with %s (case 202)", async (_what, names, calls) => {
    const { target, decider } = await start({ withClients: true, clientName: "envoy.weir.example" });
    expect(await ask(await clientOf(target, names), PLAIN_REQUEST)).toMatchObject(
      calls === 1 ? { kind: "decision" } : { kind: "refused", status: "UNAVAILABLE" },
    );
    expect(decider.calls).toHaveLength(calls);
  });

  it("refuses a client certificate of another authority", async () => {
    const { target } = await start({ withClients: true });
    const other = await createAuthority({ commonName: "other", ...validity });
    const stranger = await clientOf(target, { commonName: "client", dnsNames: ["envoy.example"] }, other);
    expect(await ask(stranger, PLAIN_REQUEST)).toMatchObject({ kind: "refused", status: "UNAVAILABLE" });
  });

  it("a client of the old authority is refused once the authority was replaced, also when it resumes its session (case 201)", async () => {
    const { target } = await start({ withClients: true });
    /** Connects. `isIn` is true if the server lets the client in: then it sends its settings. */
    const connectAgain = async (session?: Buffer) => {
      const socket = handshake(target, session);
      const closed = new AbortController();
      socket.on("close", () => closed.abort());
      socket.on("secureConnect", () => socket.write(openingBytes()));
      try {
        const ticket = session ?? once(socket, "session", closed).then(([bytes]) => bytes as Buffer);
        const [next] = await Promise.all([ticket, once(socket, "data", closed)]);
        return { isIn: true, isResumed: socket.isSessionReused(), session: next };
      } catch {
        return { isIn: false, isResumed: socket.isSessionReused(), session };
      } finally {
        socket.destroy();
      }
    };
    const first = await connectAgain();
    expect(first.isIn).toBe(true);
    expect(await connectAgain(first.session)).toMatchObject({ isIn: true, isResumed: true });
    const next = await createAuthority({ commonName: "second", ...validity });
    await writeFile(certificates.ca, next.certPem);
    await expect.poll(async () => (await connectAgain(first.session)).isIn, WAIT).toBe(false);
    expect((await connectAgain()).isIn).toBe(false);
  });
});
