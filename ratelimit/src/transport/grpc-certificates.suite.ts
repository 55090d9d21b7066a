// Certificates of clients that are nearly right, for every gRPC engine: only those with the name of
// GRPC_CLIENT_TLS_SAN, and of the present authority, are let in.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";

import { Client, credentials } from "@grpc/grpc-js";
import { type Authority, createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { openingBytes } from "@weir/harness/http2/http2-frames";
import { afterEach, describe, expect, it } from "vitest";

import { ask, type GrpcEngine, openEngine } from "./grpc-engine.suite.ts";
import { PLAIN_REQUEST } from "./transport.suite.ts";
import type { Transport } from "./transport.ts";

/** Runs the suite. */
export function describeGrpcCertificates(engine: GrpcEngine): void {
  describe(`the engine ${engine.name} and certificates of clients`, () => {
    let transport: Transport | undefined;
    let files: TlsFiles | undefined;
    const closers: (() => void)[] = [];

    const now = new Date();
    let folder: string;
    let authority: Authority;

    afterEach(async () => {
      for (const close of closers.splice(0)) close();
      await transport?.stop();
      files?.stop();
      transport = undefined;
      files = undefined;
    });

    async function startSecure(clientName: string | undefined): Promise<string> {
      folder = await mkdtemp(join(tmpdir(), "weir-grpc-limits-"));
      closers.push(() => void rm(folder, { recursive: true, force: true }));
      authority = await createAuthority({ commonName: "first", now, validDays: 1 });
      const pair = await authority.issue({
        commonName: "server",
        dnsNames: ["localhost"],
        usage: "server",
        now,
        validDays: 1,
      });
      await Promise.all([
        writeFile(join(folder, "cert.pem"), pair.certPem),
        writeFile(join(folder, "key.pem"), pair.keyPem),
        writeFile(join(folder, "ca.pem"), authority.certPem),
      ]);
      const paths = {
        certPath: join(folder, "cert.pem"),
        keyPath: join(folder, "key.pem"),
        caPath: join(folder, "ca.pem"),
      };
      files = new TlsFiles(paths, { log: silentLog() }, { pollIntervalMs: 50 });
      files.start();
      const opened = await openEngine(engine, { tls: { files, clientName } });
      transport = opened.transport;
      return opened.target;
    }

    async function askAs(
      target: string,
      names: { readonly commonName: string; readonly dnsNames?: readonly string[]; readonly uris?: readonly string[] },
    ): Promise<string> {
      const pair = await authority.issue({ ...names, usage: "client", now, validDays: 1 });
      const channel = credentials.createSsl(
        Buffer.from(authority.certPem),
        Buffer.from(pair.keyPem),
        Buffer.from(pair.certPem),
      );
      const client = new Client(target, channel, {
        "grpc.ssl_target_name_override": "localhost",
        "grpc.use_local_subchannel_pool": 1,
      });
      closers.push(() => client.close());
      const answer = await ask(client, PLAIN_REQUEST);
      return answer.kind === "refused" ? answer.status : "OK";
    }

    it.each([
      ["the name itself", { commonName: "x", dnsNames: ["envoy.weir.example"] }, "OK"],
      ["a wildcard over it", { commonName: "x", dnsNames: ["*.weir.example"] }, "OK"],
      ["only a common name", { commonName: "envoy.weir.example" }, "UNAVAILABLE"],
      ["a common name, and a URI", { commonName: "envoy.weir.example", uris: ["spiffe://weir/envoy"] }, "UNAVAILABLE"],
      ["a longer name", { commonName: "x", dnsNames: ["envoy.weir.example.org"] }, "UNAVAILABLE"],
    ])("GRPC_CLIENT_TLS_SAN and a certificate with %s (case 202)", async (_what, names, answer) => {
      expect(await askAs(await startSecure("envoy.weir.example"), names)).toBe(answer);
    });

    it("a client of the old authority is refused once the authority was replaced, also when it resumes its session (case 201)", async () => {
      const target = await startSecure(undefined);
      const [host = "", port = ""] = target.split(":");
      const old = await authority.issue({
        commonName: "x",
        dnsNames: ["envoy.weir.example"],
        usage: "client",
        now,
        validDays: 1,
      });
      const options = {
        host,
        port: Number(port),
        ca: authority.certPem,
        cert: old.certPem,
        key: old.keyPem,
        servername: "localhost",
        ALPNProtocols: ["h2"],
      };
      /** Whether the server lets the client in: then it sends its settings. */
      const isLetIn = (session?: Buffer): Promise<{ isIn: boolean; isResumed: boolean; session: Buffer | undefined }> =>
        new Promise((resolve) => {
          let ticket: Buffer | undefined;
          const socket = tlsConnect({ ...options, ...(session !== undefined && { session }) });
          const end = (isIn: boolean): void => {
            resolve({ isIn, isResumed: socket.isSessionReused(), session: ticket });
            socket.destroy();
          };
          let hasAnswer = false;
          const endWithTicket = (): void => {
            if (hasAnswer && (ticket !== undefined || session !== undefined)) end(true);
          };
          socket.on("session", (bytes: Buffer) => {
            ticket = bytes;
            endWithTicket();
          });
          socket.on("secureConnect", () => socket.write(openingBytes()));
          socket.on("data", () => {
            hasAnswer = true;
            endWithTicket();
          });
          socket.on("error", () => end(false));
          socket.on("close", () => end(false));
        });
      const first = await isLetIn();
      expect(first.isIn).toBe(true);
      expect(await isLetIn(first.session)).toMatchObject({ isIn: true, isResumed: true });
      const next = await createAuthority({ commonName: "second", now, validDays: 1 });
      await writeFile(join(folder, "ca.pem"), next.certPem);
      await expect.poll(() => isLetIn(first.session).then(({ isIn }) => isIn), { timeout: 30_000 }).toBe(false);
      expect((await isLetIn()).isIn).toBe(false);
    });
  });
}
