// Tests of connection-failure.ts, with the texts that grpc-js 1.14 gives under Node 26.
import { describe, expect, it } from "vitest";

import { explainFailure, isClosedSilently } from "./connection-failure.ts";

const NOW = new Date("2026-01-31T12:00:00Z");

const VALID = {
  issuer: "O=Example\nCN=authority",
  validFromDate: new Date("2026-01-01T00:00:00Z"),
  validToDate: new Date("2026-02-01T00:00:00Z"),
};

/** A failed connection as the client reports it. */
function unavailable(text: string): string {
  return `14 UNAVAILABLE: No connection established. Last error: ${text}`;
}

function alert(text: string): string {
  return unavailable(`TLS failed with "${text}" (2026-01-31T12:00:00.000Z)`);
}

describe("explainFailure() over TLS", () => {
  it.each([
    {
      reason: unavailable("Failed to connect (2026-01-31T12:00:00.000Z)"),
      cause:
        "the configuration server closed the connection after the TLS handshake; it may not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by O=Example, CN=authority: check authority (in Weir's control plane: ADS_TLS_CLIENT_CACERT) and purpose, its log has the reason",
    },
    {
      reason: alert("tlsv1 alert unknown ca"),
      cause:
        "the configuration server does not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by O=Example, CN=authority: it does not trust that authority (in Weir's control plane: ADS_TLS_CLIENT_CACERT)",
    },
    {
      reason: alert("ssl/tls alert certificate expired"),
      cause:
        "the configuration server does not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by O=Example, CN=authority: that, or its authority, has expired by the clock of the server",
    },
    {
      reason: alert("ssl/tls alert bad certificate"),
      cause:
        "the configuration server does not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by O=Example, CN=authority; its log has the reason",
    },
    {
      reason: unavailable("Error: certificate has expired"),
      cause: "the certificate of the configuration server, or of its authority, has expired",
    },
    {
      reason: unavailable("Error: certificate is not yet valid"),
      cause: "the certificate of the configuration server, or of its authority, is not valid yet; check the clocks",
    },
    {
      reason: unavailable("Error: unsuitable certificate purpose"),
      cause: "the certificate of the configuration server is not for TLS servers (extended key usage)",
    },
    {
      reason: unavailable('Error: TLS failed with "tlsv1 alert no application protocol"'),
      cause: "the configuration server does not offer HTTP/2 (ALPN h2), which gRPC needs",
    },
    {
      reason: unavailable('Error: TLS failed with "tlsv1 alert protocol version"'),
      cause: "the configuration server does not speak TLS from version 1.2 on",
    },
    {
      reason: unavailable("Error: Client network socket disconnected before secure TLS connection was established"),
      cause:
        "the configuration server closed the connection during the TLS handshake; CONFIG_GRPC_XDS_SERVER_USE_TLS=false is for servers without TLS",
    },
  ])("names the cause of $reason", ({ reason, cause }) => {
    expect(explainFailure(reason, { kind: "tls", certificate: VALID, now: NOW })).toBe(`${cause} (${reason})`);
  });

  it.each([
    { when: "it has expired", now: "2026-02-01T00:00:01Z", cause: "has expired, at 2026-02-01T00:00:00.000Z" },
    { when: "it is not valid yet", now: "2025-12-31T23:59:59Z", cause: "is not valid before 2026-01-01T00:00:00.000Z" },
  ])("names the client's own certificate when $when, whatever the server says", ({ now, cause }) => {
    for (const reason of [
      unavailable("Failed to connect"),
      unavailable("read ECONNRESET"),
      alert("ssl/tls alert certificate expired"),
      alert("tlsv1 alert unknown ca"),
    ])
      expect(explainFailure(reason, { kind: "tls", certificate: VALID, now: new Date(now) })).toBe(
        `the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT ${cause} (${reason})`,
      );
  });

  it.each([
    {
      reason: alert("tlsv13 alert certificate required"),
      cause: "the configuration server requires a client certificate;",
    },
    {
      reason: alert("ssl/tls alert handshake failure"),
      cause: "the configuration server requires a client certificate;",
    },
    {
      reason: unavailable("Failed to connect"),
      cause:
        "the configuration server closed the connection after the TLS handshake; it may require a client certificate:",
    },
  ])("asks for a certificate where the client shows none: $reason", ({ reason, cause }) => {
    expect(explainFailure(reason, { kind: "tls", certificate: undefined, now: NOW })).toBe(
      `${cause} set CONFIG_GRPC_XDS_CLIENT_TLS_CERT and CONFIG_GRPC_XDS_CLIENT_TLS_KEY (${reason})`,
    );
  });

  it.each([
    unavailable("connect ECONNREFUSED 127.0.0.1:18000"),
    "7 PERMISSION_DENIED: no name in the client certificate is allowed here, its names are: x",
    "12 UNIMPLEMENTED: The server does not implement the method",
  ])("does not change a reason that TLS does not explain: %s", (reason) => {
    expect(explainFailure(reason, { kind: "tls", certificate: VALID, now: NOW })).toBe(reason);
  });
});

describe("explainFailure() in plaintext", () => {
  const reason = unavailable("Failed to connect (2026-01-31T12:00:00.000Z)");

  it("names TLS when the server speaks it", () => {
    expect(isClosedSilently(reason)).toBe(true);
    expect(explainFailure(reason, { kind: "plaintext", isTlsServer: true })).toBe(
      `the configuration server requires TLS on this port, and this client speaks plaintext; set CONFIG_GRPC_XDS_SERVER_USE_TLS=true (${reason})`,
    );
  });

  it("names nothing when the server does not", () => {
    expect(explainFailure(reason, { kind: "plaintext", isTlsServer: false })).toBe(reason);
  });
});
