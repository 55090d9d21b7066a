// The causes of failed TLS with go-control-plane: Go sends TLS alerts.
import { startGoControlPlane } from "@weir/harness/servers/go-control-plane";

import { describeTlsFailures } from "./tls-failures.suite.ts";

describeTlsFailures(
  "go-control-plane",
  async (files) => {
    const server = await startGoControlPlane(files && { ...files, clientCaPath: files.caPath });
    return { port: server.port, close: () => server.stop() };
  },
  {
    unknownAuthority:
      /^the configuration server does not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by CN=other: it does not trust that authority \(in Weir's control plane: ADS_TLS_CLIENT_CACERT\) /,
    wrongPurpose:
      /^the configuration server does not accept the certificate in CONFIG_GRPC_XDS_CLIENT_TLS_CERT, issued by CN=own; its log has the reason /,
  },
);
