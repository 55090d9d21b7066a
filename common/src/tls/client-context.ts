// The TLS context of outgoing connections: trusted authorities and the client certificate.
// Listeners use other ones: they must not trust public authorities, which certify any client.
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

import type { TlsMaterial } from "./tls-material.ts";

/**
 * Contexts by their material: making one takes some 20 ms, and a pool opens many connections with
 * the same files.
 */
const contexts = new WeakMap<TlsMaterial, SecureContext>();

/**
 * The context for connections to servers. Trusts the authorities of the CA file in addition to the
 * public ones of Node and those of the system, as Go programs do.
 */
export function clientContext(material: TlsMaterial): SecureContext {
  return contexts.getOrInsertComputed(material, makeContext);
}

function makeContext(material: TlsMaterial): SecureContext {
  const authorities = new Set([...getCACertificates("default"), ...getCACertificates("system")]);
  if (material.ca !== undefined) authorities.add(material.ca.toString("latin1"));
  return createSecureContext({ ...material, ca: [...authorities], minVersion: "TLSv1.2" });
}
