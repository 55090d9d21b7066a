// The causes for which TLS to a configuration server fails, over certificates made for the purpose:
// what the log of the client says of each. Run against servers of several TLS libraries.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createAuthority } from "@weir/certificates/authority";
import { createLog } from "@weir/common/log/log";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { RecordingListener } from "../config-source.suite.ts";
import { XdsSource } from "./xds-source.ts";

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

type Party = "valid" | "expired" | "of-another-authority" | "of-the-other-purpose" | "none" | "plaintext";

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
    let folder: string;
    let authorities: Readonly<Record<"own" | "other", string>>;
    let files: Readonly<Record<"server" | "client", Readonly<Partial<Record<Party, TlsFilePaths>>>>>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "weir-tls-failures-"));
      ({ authorities, files } = await writeFiles(folder));
    });

    afterAll(async () => {
      await rm(folder, { recursive: true });
    });

    it.each<{ when: string; server: Party; client: Party; name?: string; trusts?: "other"; reason: RegExp }>([
      {
        when: "the client's certificate is of an authority that the server does not trust",
        server: "valid",
        client: "of-another-authority",
        reason: texts.unknownAuthority,
      },
      {
        when: "the client's certificate has expired",
        server: "valid",
        client: "expired",
        reason: RegExp(`^the certificate in ${CERTIFICATE} has expired, at \\d{4}-\\d\\d-\\d\\dT`),
      },
      {
        when: "the client's certificate is for servers",
        server: "valid",
        client: "of-the-other-purpose",
        reason: texts.wrongPurpose,
      },
      {
        when: "the client has no certificate",
        server: "valid",
        client: "none",
        reason: RegExp(
          `^${SERVER} requires a client certificate; set ${CERTIFICATE} and CONFIG_GRPC_XDS_CLIENT_TLS_KEY `,
        ),
      },
      {
        when: "the server's certificate is of an authority that the client does not trust",
        server: "valid",
        client: "valid",
        trusts: "other",
        reason:
          /^the certificate of the configuration server is not from a trusted authority; CONFIG_GRPC_XDS_SERVER_TLS_CACERT must contain its authority /,
      },
      {
        when: "the server's certificate has expired",
        server: "expired",
        client: "valid",
        reason: /^the certificate of the configuration server, or of its authority, has expired /,
      },
      {
        when: "the server's certificate is for clients",
        server: "of-the-other-purpose",
        client: "valid",
        reason: /^the certificate of the configuration server is not for TLS servers \(extended key usage\) /,
      },
      {
        when: "the server's certificate is for another name",
        server: "valid",
        client: "valid",
        name: "another.example",
        reason:
          /^the certificate of the configuration server is for other names; check the host in CONFIG_GRPC_XDS_SERVER_URL, or name one of them in CONFIG_GRPC_XDS_SERVER_TLS_SAN .*DNS:control-plane\.example/,
      },
      {
        when: "the server speaks plaintext, and the client TLS",
        server: "plaintext",
        client: "valid",
        reason:
          /^the configuration server does not speak TLS on this port; CONFIG_GRPC_XDS_SERVER_USE_TLS=false is for servers without TLS /,
      },
      {
        when: "the server speaks TLS, and the client plaintext",
        server: "valid",
        client: "plaintext",
        reason:
          /^the configuration server requires TLS on this port, and this client speaks plaintext; set CONFIG_GRPC_XDS_SERVER_USE_TLS=true /,
      },
    ])("names the cause when $when", async ({ server: serverParty, client, name, trusts, reason }) => {
      const serverFiles = files.server[serverParty];
      const server = await open(
        serverFiles === undefined ? undefined : { ...(serverFiles as ServerFiles), caPath: authorities.own },
      );
      const tls = {
        paths: { ...files.client[client], caPath: authorities[trusts ?? "own"] },
        serverName: name ?? "control-plane.example",
      };
      const { source, warnings } = sourceOf(server.port, client === "plaintext" ? undefined : tls);
      await source.start();
      // The second attempt is explained as the first one.
      await eventually("two warnings", () => expect(warnings.length).toBeGreaterThanOrEqual(2), WAIT_MAX_MS);
      await source.stop();
      await server.close();
      for (const warning of warnings) {
        expect(warning).toMatchObject({ "@message": "Cannot connect to the configuration server, retrying" });
        expect(warning["reason"]).toMatch(reason);
      }
    });
  });
}

function sourceOf(port: number, tls: ConstructorParameters<typeof XdsSource>[1]["tls"]) {
  const warnings: Record<string, unknown>[] = [];
  const log = createLog({
    level: "warn",
    format: "json",
    write: (line) => warnings.push(JSON.parse(line) as Record<string, unknown>),
  });
  const source = new XdsSource(
    { listener: new RecordingListener(), random: () => 0, log },
    {
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
  return { source, warnings };
}

/** Writes two authorities, and certificates of servers and clients in each state. */
async function writeFiles(folder: string) {
  const now = new Date();
  const before = new Date(now.getTime() - 3 * DAY_MS);
  const own = await createAuthority({ commonName: "own", now: before, validDays: 30 });
  const other = await createAuthority({ commonName: "other", now: before, validDays: 30 });
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };
  const dnsNames = ["control-plane.example"];
  const pair = async (
    name: string,
    usage: "server" | "client",
    { by = own, at = now }: { readonly by?: typeof own; readonly at?: Date } = {},
  ): Promise<TlsFilePaths> => {
    const { certPem, keyPem } = await by.issue({ commonName: name, dnsNames, usage, now: at, validDays: 1 });
    return { certPath: await write(`${name}.crt`, certPem), keyPath: await write(`${name}.key`, keyPem) };
  };
  return {
    authorities: { own: await write("own.crt", own.certPem), other: await write("other.crt", other.certPem) },
    files: {
      server: {
        valid: await pair("server", "server"),
        expired: await pair("server-expired", "server", { at: before }),
        "of-the-other-purpose": await pair("server-purpose", "client"),
      },
      client: {
        valid: await pair("client", "client"),
        expired: await pair("client-expired", "client", { at: before }),
        "of-another-authority": await pair("client-other", "client", { by: other }),
        "of-the-other-purpose": await pair("client-purpose", "server"),
      },
    },
  };
}
