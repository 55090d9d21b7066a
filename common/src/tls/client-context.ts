// The TLS context of outgoing connections: whom they trust, and the certificate that they show. Not
// for listeners, which trust for their clients nothing but the authority that they are given: the
// public ones certify anybody.
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";

import type { TlsMaterial } from "./tls-material.ts";

/**
 * Contexts by the material they were made of: making one takes some 20 ms, and a pool opens many
 * connections with the same files.
 */
const contexts = new WeakMap<TlsMaterial, SecureContext>();

/**
 * The context for connections to servers. Trusted are the authorities of the CA file together with
 * the public ones that Node carries and those that this machine's system trusts, as the field's
 * programs do it: a CA file adds to what is trusted, it does not replace it.
 */
export function clientContext(material: TlsMaterial): SecureContext {
  const known = contexts.get(material);
  if (known !== undefined) return known;
  const authorities = new Set([...getCACertificates("default"), ...getCACertificates("system")]);
  if (material.ca !== undefined) authorities.add(material.ca.toString("latin1"));
  const context = createSecureContext({ ...material, ca: [...authorities], minVersion: "TLSv1.2" });
  contexts.set(material, context);
  return context;
}
