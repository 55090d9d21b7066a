// The explanation of each way in which a handshake fails.
import { describe, expect, it } from "vitest";

import { explainHandshake, type FailedHandshake, type ListenerWords } from "./handshake-failure.ts";

const WORDS: ListenerWords = {
  server: "this control plane",
  clientAuthority: "ADS_TLS_CLIENT_CACERT",
  plaintext: "with ADS_PLAINTEXT=true",
};

function failed(difference: Partial<FailedHandshake>): FailedHandshake {
  return { code: "ECONNRESET", opensslReason: "", certificateError: undefined, bytesRead: 500, ...difference };
}

describe("explainHandshake()", () => {
  it.each([
    {
      when: "another authority signed the certificate",
      handshake: { certificateError: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
      kind: "untrusted-certificate",
      reason: "its certificate is not accepted: no authority in ADS_TLS_CLIENT_CACERT has signed it",
    },
    {
      when: "the certificate has expired",
      handshake: { certificateError: "CERT_HAS_EXPIRED" },
      kind: "untrusted-certificate",
      reason: "its certificate is not accepted: it, or an authority above it, has expired",
    },
    {
      when: "Node has a name for it without an explanation",
      handshake: { certificateError: "CRL_SIGNATURE_FAILURE" },
      kind: "untrusted-certificate",
      reason: "its certificate is not accepted: CRL_SIGNATURE_FAILURE",
    },
    {
      when: "a client in Go does not know the authority of the server",
      handshake: { code: "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA", opensslReason: "tlsv1 alert unknown ca" },
      kind: "untrusted-server",
      reason: "it does not accept the certificate of this control plane (tlsv1 alert unknown ca)",
    },
    {
      when: "a client in Go finds another name in the server's certificate",
      handshake: { code: "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE", opensslReason: "ssl/tls alert bad certificate" },
      kind: "untrusted-server",
      reason: "it does not accept the certificate of this control plane (ssl/tls alert bad certificate)",
    },
    {
      when: "there is no common cipher",
      handshake: { code: "ERR_SSL_NO_SHARED_CIPHER", opensslReason: "no shared cipher" },
      kind: "other",
      reason: "the TLS handshake failed: no shared cipher",
    },
    {
      when: "the error is unknown",
      handshake: { code: "ESOMETHING" },
      kind: "other",
      reason: "the TLS handshake failed: ESOMETHING",
    },
    {
      when: "the client goes in the middle",
      handshake: { bytesRead: 5 },
      kind: "broken-off",
      reason: "it broke the TLS handshake off; it may not accept the certificate of this control plane",
    },
  ])("says why when $when", ({ handshake, kind, reason }) => {
    expect(explainHandshake(failed(handshake), WORDS)).toEqual({ kind, reason });
  });

  it("explains nothing when the client sent nothing, as probes do", () => {
    expect(explainHandshake(failed({ bytesRead: 0 }), WORDS)).toBeUndefined();
  });
});
