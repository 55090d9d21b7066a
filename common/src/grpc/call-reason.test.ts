import { describe, expect, it } from "vitest";

import { callReason } from "./call-reason.ts";

describe("callReason", () => {
  it.each([
    ["14 UNAVAILABLE: Connection dropped", "14 UNAVAILABLE: Connection dropped"],
    [
      "14 UNAVAILABLE: Name resolution failed for target dns:x. Resolution note: ",
      "14 UNAVAILABLE: Name resolution failed for target dns:x",
    ],
    [
      "Error: unable to verify the first certificate; if the root CA is installed locally, try running Node.js with --use-system-ca",
      "Error: unable to verify the first certificate",
    ],
    [
      "Last error: Error: 40537A0B7B7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:78:; ",
      'Last error: Error: TLS failed with "wrong version number"',
    ],
    [
      "Last error: 40E3166CEF7F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 116; (2026-11-21T13:16:29.163Z)",
      'Last error: TLS failed with "tlsv13 alert certificate required"',
    ],
    [
      "14 UNAVAILABLE: Last error: connect ECONNREFUSED 127.0.0.1:9 (2026-11-21T13:16:29.163Z)",
      "14 UNAVAILABLE: Last error: connect ECONNREFUSED 127.0.0.1:9",
    ],
  ])("callReason() keeps what helps of %j", (message, expected) => {
    expect(callReason(new Error(message))).toBe(expected);
  });
});
