// The extended key usages for each use of a certificate.
import "reflect-metadata"; // A peer dependency of @peculiar/x509.
import { ExtendedKeyUsage } from "@peculiar/x509";

/** By use. */
export const USAGES = {
  server: [ExtendedKeyUsage.serverAuth],
  client: [ExtendedKeyUsage.clientAuth],
  both: [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth],
} as const;
