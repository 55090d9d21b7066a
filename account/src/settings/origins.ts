// The settings of URLs: where browsers reach the service, which front ends may call it, and which
// proxies are in front.
import { isIP } from "node:net";
import type { EnvReader } from "@weir/common/settings/read-env";

/** Front ends that may call in development: the usual ports of development servers. */
const DEVELOPMENT_ORIGINS: readonly string[] = ["http://localhost:3000", "http://localhost:5173"];

const ORIGIN_ALLOWED =
  "an origin written in full, such as https://app.example.com: scheme, host in lower case, port if not the usual one, no path";

/** Origins, URLs and proxies. */
export interface OriginSettings {
  /** Undefined: the address of the listener. */
  readonly publicOrigin: string | undefined;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: number | readonly string[] | false;
}

/** Reads them; what is fit for development only is added to `warnings`. */
export function readOrigins(
  read: EnvReader,
  { isProduction, isMediaLocal }: { readonly isProduction: boolean; readonly isMediaLocal: boolean },
  warnings: string[],
): OriginSettings {
  const publicOrigin = read.optionalString("PUBLIC_ORIGIN", {
    effect:
      "Origin under which browsers reach the service, such as https://account.example.com; not set, localhost with PORT. Required with MEDIA=local and NODE_ENV=production.",
  });
  if (publicOrigin !== undefined && !isOrigin(publicOrigin))
    read.problem("PUBLIC_ORIGIN", publicOrigin, ORIGIN_ALLOWED);
  if (publicOrigin === undefined && isProduction) {
    if (isMediaLocal)
      read.problem(
        "PUBLIC_ORIGIN",
        undefined,
        `${ORIGIN_ALLOWED}; with MEDIA=local the URLs of avatars begin with it, and stay as they are`,
      );
    else
      warnings.push(
        "PUBLIC_ORIGIN is not set, so calls of pages on the service's own origin are refused in browsers without Sec-Fetch-Site",
      );
  }
  const listed = read.list("CORS_ORIGINS", {
    effect: `Origins of front ends that may call, compared exactly; not set, ${DEVELOPMENT_ORIGINS.join(",")}, and none with NODE_ENV=production.`,
  });
  for (const origin of listed.filter((entry) => !isOrigin(entry))) read.problem("CORS_ORIGINS", origin, ORIGIN_ALLOWED);
  const corsOrigins = listed.length > 0 || isProduction ? listed : DEVELOPMENT_ORIGINS;
  return { publicOrigin, corsOrigins, trustProxy: readTrustProxy(read) };
}

/** Returns true if the text is exactly what browsers send as Origin; neither "*" nor "null" is. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

function readTrustProxy(read: EnvReader): number | readonly string[] | false {
  const entries = read.list("TRUST_PROXY", {
    effect:
      "Number of proxies in front, or their networks as 10.0.0.0/8,…, whose X-Forwarded-For is trusted; not set, none.",
  });
  const [first] = entries;
  if (first === undefined) return false;
  if (entries.length === 1 && /^\d{1,2}$/.test(first)) return Number(first);
  for (const entry of entries.filter((network) => !isNetwork(network))) {
    read.problem(
      "TRUST_PROXY",
      entry,
      "a number of proxies up to 99, or networks such as 10.0.0.0/8; all networks cannot be trusted",
    );
  }
  return entries;
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}
