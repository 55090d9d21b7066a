// The causes of failed TLS with a server that runs in Node, as the control plane does: it closes a
// connection whose certificate it does not accept, without a TLS alert.
import { readFileSync } from "node:fs";

import { ScriptedAdsServer } from "@weir/harness/ads/ads-server";

import { describeTlsFailures } from "./tls-failures.suite.ts";

const MAY_NOT_ACCEPT =
  /^the configuration server closed the connection after the TLS handshake; it may not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by CN=\w+: check authority \(in Weir's control plane: ADS_TLS_CLIENT_CACERT\) and purpose, its log has the reason /;

describeTlsFailures(
  "a server in Node",
  async (files) => {
    const server = new ScriptedAdsServer();
    await server.open(
      files && { ca: readFileSync(files.caPath), cert: readFileSync(files.certPath), key: readFileSync(files.keyPath) },
    );
    return { port: server.port, close: () => server.close() };
  },
  { unknownAuthority: MAY_NOT_ACCEPT, wrongPurpose: MAY_NOT_ACCEPT },
);
