// The options of requests that a kubeconfig gives by itself: certificates, names, passwords and tokens.
import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";

import { type Mapping, textOf } from "../mapping.ts";

/** Fields of a user that only @kubernetes/client-node understands. */
const PACKAGE_FIELDS = ["auth-provider", "token-file"];

/** Returns true if only @kubernetes/client-node understands the credentials of a user. */
export function needsPackage(user: Mapping): boolean {
  return PACKAGE_FIELDS.some((field) => Boolean(user[field]));
}

/** The options as @kubernetes/client-node gives them, with the files as they are now; fails when one cannot be read. */
export async function kubeconfigOptions(cluster: Mapping, user: Mapping): Promise<RequestOptions> {
  const [ca, cert, key] = await Promise.all([
    fileOrData(cluster, "certificate-authority"),
    fileOrData(user, "client-certificate"),
    fileOrData(user, "client-key"),
  ]);
  const [username, impersonated, token] = [user["username"], user["as"], user["token"]].map(textOf);
  const servername = textOf(cluster["tls-server-name"]);
  return {
    headers: {
      ...(impersonated !== undefined && { "Impersonate-User": impersonated }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    ...(username !== undefined && { auth: `${username}:${textOf(user["password"]) ?? ""}` }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(servername !== undefined && { servername }),
    ...(cluster["insecure-skip-tls-verify"] === true && { rejectUnauthorized: false }),
  };
}

async function fileOrData(fields: Mapping, name: string): Promise<Buffer | undefined> {
  const [path, data] = [textOf(fields[name]), textOf(fields[`${name}-data`])];
  if (path !== undefined) return await readFile(path);
  return data === undefined ? undefined : Buffer.from(data, "base64");
}
