// The causes of failed TLS with a server that runs in Node, as the control plane does: it closes a
// connection whose certificate it does not accept, without a TLS alert.
import { readFile } from "node:fs/promises";

import { ServerCredentials } from "@grpc/grpc-js";

import { FakeAdsServer } from "./fake-ads-server.suite.ts";
import { describeTlsFailures } from "./tls-failures.suite.ts";

const MAY_NOT_ACCEPT =
  /^the configuration server closed the connection after the TLS handshake; it may not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by CN=\w+: check authority \(in Weir's control plane: ADS_TLS_CLIENT_CACERT\) and purpose, its log has the reason /;

describeTlsFailures(
  "a server in Node",
  async (files) => {
    const server = new FakeAdsServer();
    if (files === undefined) await server.open();
    else {
      const pair = { cert_chain: await readFile(files.certPath), private_key: await readFile(files.keyPath) };
      await server.open(ServerCredentials.createSsl(await readFile(files.caPath), [pair], true));
    }
    return { port: server.port, close: () => server.close() };
  },
  { unknownAuthority: MAY_NOT_ACCEPT, wrongPurpose: MAY_NOT_ACCEPT },
);
