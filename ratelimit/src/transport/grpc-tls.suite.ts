// The behaviour of every gRPC engine over TLS.
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";

import { Client, credentials } from "@grpc/grpc-js";
import { type Authority, createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ask, type GrpcEngine, openEngine, type OpenedEngine, WAIT } from "./grpc-engine.suite.ts";
import { PLAIN_REQUEST } from "./transport.suite.ts";

/** Runs the suite. */
export function describeGrpcOverTls(engine: GrpcEngine): void {
  describe(`the engine ${engine.name} over TLS`, () => {
    let folder: string;
    let authority: Authority;
    let files: TlsFiles | undefined;
    let opened: OpenedEngine | undefined;
    const clients: Client[] = [];
    const now = new Date();

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "weir-grpc-tls-"));
      authority = await createAuthority({ commonName: "test", now, validDays: 1 });
      await writeServerPair("first.example");
      await writeFile(join(folder, "ca.pem"), authority.certPem);
    });

    afterEach(async () => {
      for (const client of clients.splice(0)) client.close();
      await opened?.transport.stop();
      files?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    async function writeServerPair(name: string): Promise<void> {
      const pair = await authority.issue({
        commonName: name,
        dnsNames: [name, "localhost"],
        usage: "server",
        now,
        validDays: 1,
      });
      await writeFile(join(folder, "key.next"), pair.keyPem);
      await writeFile(join(folder, "cert.next"), pair.certPem);
      await rename(join(folder, "key.next"), join(folder, "key.pem"));
      await rename(join(folder, "cert.next"), join(folder, "cert.pem"));
    }

    async function start(options: {
      withClients: boolean;
      clientName?: string;
      handshakeTimeoutMs?: number;
    }): Promise<OpenedEngine> {
      const paths = { certPath: join(folder, "cert.pem"), keyPath: join(folder, "key.pem") };
      files = new TlsFiles(
        options.withClients ? { ...paths, caPath: join(folder, "ca.pem") } : paths,
        { log: silentLog() },
        { pollIntervalMs: 50 },
      );
      files.start();
      const { handshakeTimeoutMs } = options;
      opened = await openEngine(engine, {
        tls: { files, clientName: options.clientName, ...(handshakeTimeoutMs !== undefined && { handshakeTimeoutMs }) },
      });
      return opened;
    }

    it("closes a connection whose handshake does not come (half-open connections)", async () => {
      const { target } = await start({ withClients: false, handshakeTimeoutMs: 50 });
      const socket = connect(Number(new URL(`tcp://${target}`).port), "127.0.0.1");
      socket.resume();
      await once(socket, "close");
      expect(socket.bytesRead).toBe(0);
    });

    async function clientWith(dnsName: string | undefined): Promise<Client> {
      const ca = Buffer.from(authority.certPem);
      const pair =
        dnsName === undefined
          ? undefined
          : await authority.issue({ commonName: "client", dnsNames: [dnsName], usage: "client", now, validDays: 1 });
      const channel =
        pair === undefined
          ? credentials.createSsl(ca)
          : credentials.createSsl(ca, Buffer.from(pair.keyPem), Buffer.from(pair.certPem));
      const options = { "grpc.ssl_target_name_override": "localhost", "grpc.use_local_subchannel_pool": 1 };
      const client = new Client(opened?.target ?? "", channel, options);
      clients.push(client);
      return client;
    }

    /** The name in the certificate that a new handshake shows. */
    function shownName(target: string): Promise<string> {
      const [host = "", port = ""] = target.split(":");
      return new Promise((resolve, reject) => {
        const socket = tlsConnect(
          { host, port: Number(port), ca: authority.certPem, servername: "localhost", ALPNProtocols: ["h2"] },
          () => {
            resolve(String(socket.getPeerCertificate().subject.CN));
            socket.destroy();
          },
        );
        socket.on("error", reject);
      });
    }

    it("answers clients that trust its authority", async () => {
      await start({ withClients: false });
      expect((await ask(await clientWith(undefined), PLAIN_REQUEST)).kind).toBe("decision");
    });

    it("shows the new certificate once the files were replaced by rename, while old connections stay (case 201)", async () => {
      const { target } = await start({ withClients: false });
      const client = await clientWith(undefined);
      await ask(client, PLAIN_REQUEST);
      expect(await shownName(target)).toBe("first.example");
      await writeServerPair("second.example");
      await expect.poll(() => shownName(target), WAIT).toBe("second.example");
      expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
    });

    it("asks clients for a certificate of the authority, and for the name where one is set (case 202)", async () => {
      await start({ withClients: true, clientName: "envoy.example" });
      expect((await ask(await clientWith("envoy.example"), PLAIN_REQUEST)).kind).toBe("decision");
      expect(await ask(await clientWith("other.example"), PLAIN_REQUEST)).toMatchObject({
        kind: "refused",
        status: "UNAVAILABLE",
      });
      expect(await ask(await clientWith(undefined), PLAIN_REQUEST)).toMatchObject({
        kind: "refused",
        status: "UNAVAILABLE",
      });
      expect(opened?.decider.calls).toHaveLength(1);
    });

    it("refuses a client certificate of another authority", async () => {
      await start({ withClients: true });
      const other = await createAuthority({ commonName: "other", now, validDays: 1 });
      const pair = await other.issue({
        commonName: "client",
        dnsNames: ["envoy.example"],
        usage: "client",
        now,
        validDays: 1,
      });
      const channel = credentials.createSsl(
        Buffer.from(authority.certPem),
        Buffer.from(pair.keyPem),
        Buffer.from(pair.certPem),
      );
      const client = new Client(opened?.target ?? "", channel, { "grpc.ssl_target_name_override": "localhost" });
      clients.push(client);
      expect(await ask(client, PLAIN_REQUEST)).toMatchObject({ kind: "refused", status: "UNAVAILABLE" });
    });
  });
}
