// The causes for which TLS to a configuration server fails, over certificates made for the purpose:
// what the log of the client says of each. Run against servers of several TLS libraries.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Authority, createAuthority } from "@weir/certificates/authority";
import { createLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { RecordingListener } from "../config-source.suite.ts";
import { type ServerState, XdsSource } from "./xds-source.ts";

const DAY_MS = 86_400_000;

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 40_000;

/** Files of a server; without any it speaks plaintext. */
export interface ServerFiles {
  readonly certPath: string;
  readonly keyPath: string;
  /** The authority of its clients. */
  readonly caPath: string;
}

/** A server that runs. */
export interface RunningServer {
  readonly port: number;
  readonly close: () => unknown;
}

/** The texts that depend on what the TLS library of the server reports to its clients. */
export interface LibraryTexts {
  readonly unknownAuthority: RegExp;
  readonly wrongPurpose: RegExp;
}

/** The fault of a certificate. */
interface Fault {
  readonly authority?: "own" | "other";
  readonly isExpired?: true;
  readonly usage?: "server" | "client";
}

/** Names of the settings, and how texts refer to the server. */
const CERTIFICATE = "CONFIG_GRPC_XDS_CLIENT_TLS_CERT";
const SERVER = "the configuration server";

/** Describes the failures with this kind of server. */
export function describeTlsFailures(
  what: string,
  open: (files: ServerFiles | undefined) => Promise<RunningServer>,
  texts: LibraryTexts,
): void {
  describe(`XdsSource with ${what}`, () => {
    const folder = makeTemporaryFolder();
    const authorities: Partial<Record<"own" | "other", Authority>> = {};

    beforeAll(async () => {
      for (const commonName of ["own", "other"] as const) {
        const authority = await createAuthority({ commonName, now: new Date(Date.now() - 3 * DAY_MS), validDays: 30 });
        authorities[commonName] = authority;
        write(commonName, authority.certPem);
      }
    });

    afterAll(() => folder.remove());

    function write(name: string, text: string): string {
      const path = join(folder.path, name);
      writeFileSync(path, text);
      return path;
    }

    async function issue(party: "server" | "client", { authority = "own", isExpired, usage = party }: Fault) {
      const now = new Date(Date.now() - (isExpired ? 3 * DAY_MS : 0));
      const names = { commonName: party, dnsNames: ["control-plane.example"] };
      const { certPem, keyPem } = await authorities[authority]!.issue({ ...names, usage, now, validDays: 1 });
      return { certPath: write(`${party}.crt`, certPem), keyPath: write(`${party}.key`, keyPem) };
    }

    it.each<{
      when: string;
      server?: Fault | "plaintext";
      client?: Fault | "plaintext" | "none";
      name?: string;
      trusts?: "other";
      reason: RegExp;
    }>([
      {
        when: "the client's certificate is of an authority that the server does not trust",
        client: { authority: "other" },
        reason: texts.unknownAuthority,
      },
      {
        when: "the client's certificate has expired",
        client: { isExpired: true },
        reason: RegExp(`^the certificate in ${CERTIFICATE} has expired, at \\d{4}-\\d\\d-\\d\\dT`),
      },
      {
        when: "the client's certificate is for servers",
        client: { usage: "server" },
        reason: texts.wrongPurpose,
      },
      {
        when: "the client has no certificate",
        client: "none",
        reason: RegExp(
          `^${SERVER} requires a client certificate; set ${CERTIFICATE} and CONFIG_GRPC_XDS_CLIENT_TLS_KEY `,
        ),
      },
      {
        when: "the server's certificate is of an authority that the client does not trust",
        trusts: "other",
        reason:
          /^the certificate of the configuration server is not from a trusted authority; CONFIG_GRPC_XDS_SERVER_TLS_CACERT must contain its authority /,
      },
      {
        when: "the server's certificate has expired",
        server: { isExpired: true },
        reason: /^the certificate of the configuration server, or of its authority, has expired /,
      },
      {
        when: "the server's certificate is for clients",
        server: { usage: "client" },
        reason: /^the certificate of the configuration server is not for TLS servers \(extended key usage\) /,
      },
      {
        when: "the server's certificate is for another name",
        name: "another.example",
        reason:
          /^the certificate of the configuration server is for other names; check the host in CONFIG_GRPC_XDS_SERVER_URL, or name one of them in CONFIG_GRPC_XDS_SERVER_TLS_SAN .*DNS:control-plane\.example/,
      },
      {
        when: "the server speaks plaintext, and the client TLS",
        server: "plaintext",
        reason:
          /^the configuration server does not speak TLS on this port; CONFIG_GRPC_XDS_SERVER_USE_TLS=false is for servers without TLS /,
      },
      {
        when: "the server speaks TLS, and the client plaintext",
        client: "plaintext",
        reason:
          /^the configuration server requires TLS on this port, and this client speaks plaintext; set CONFIG_GRPC_XDS_SERVER_USE_TLS=true /,
      },
    ])("names the cause when $when", async ({ server: serverFault = {}, client = {}, name, trusts, reason }) => {
      const serverFiles = serverFault === "plaintext" ? undefined : await issue("server", serverFault);
      const server = await open(serverFiles && { ...serverFiles, caPath: join(folder.path, "own") });
      const clientFiles = typeof client === "string" ? {} : await issue("client", client);
      const tls = {
        paths: { ...clientFiles, caPath: join(folder.path, trusts ?? "own") },
        serverName: name ?? "control-plane.example",
      };
      const { source, warnings, states } = sourceOf(server.port, client === "plaintext" ? undefined : tls);
      await source.start();
      // The second attempt is explained as the first one.
      await eventually("two warnings", () => expect(warnings.length).toBeGreaterThanOrEqual(2), WAIT_MAX_MS);
      await source.stop();
      await server.close();
      const isCertificateExpired = typeof serverFault === "object" && serverFault.isExpired === true;
      for (const state of states) expect(state).toEqual({ isConnected: false, isCertificateExpired });
      expect(states.length).toBe(warnings.length);
      for (const warning of warnings) {
        expect(warning).toMatchObject({ "@message": "Cannot connect to the configuration server, retrying" });
        expect(warning["reason"]).toMatch(reason);
      }
    });
  });
}

function sourceOf(port: number, tls: ConstructorParameters<typeof XdsSource>[1]["tls"]) {
  const warnings: Record<string, unknown>[] = [];
  const states: ServerState[] = [];
  const log = createLog({
    level: "warn",
    format: "json",
    write: (line) => warnings.push(JSON.parse(line) as Record<string, unknown>),
  });
  const source = new XdsSource(
    { listener: new RecordingListener(), random: () => 0, onState: (state) => states.push(state), log },
    {
      isIncremental: false,
      serverUrl: `127.0.0.1:${port}`,
      nodeId: "gateway/pod-7",
      nodeMetadata: new Map(),
      headers: new Map(),
      tls,
      messageMaxBytes: undefined,
      connectRetryMs: 5,
      backoff: { initialMs: 5, maxMs: 20, factor: 0.5, jitter: false },
    },
  );
  return { source, warnings, states };
}
