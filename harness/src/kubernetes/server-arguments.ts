// Arguments of the two servers of a cluster of tests.
import { join } from "node:path";

/** Arguments of etcd that keeps its state in `folder`. */
export function etcdArguments(folder: string, clientUrl: string, peerUrl: string): readonly string[] {
  return [
    ["--name", "default"],
    ["--data-dir", join(folder, "etcd")],
    // A test outlives no power cut.
    ["--unsafe-no-fsync"],
    ["--log-level", "warn"],
    // It waits so long, in milliseconds, before it elects itself.
    ["--heartbeat-interval", "10", "--election-timeout", "100"],
    ["--listen-client-urls", clientUrl, "--advertise-client-urls", clientUrl],
    ["--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl],
    ["--initial-cluster", `default=${peerUrl}`],
  ].flat();
}

/**
 * Arguments of an API server with the certificates, keys and tokens in `folder`; with a real `node` it is also at
 * that address of the machine, to which the Service `kubernetes` leads.
 */
export function apiServerArguments(
  folder: string,
  port: number,
  etcdUrl: string,
  node?: { readonly host: string; readonly serviceRange: string },
): readonly string[] {
  const file = (name: string): string => join(folder, name);
  return [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${node === undefined ? "127.0.0.1" : node.serviceRange.includes(":") ? "::" : "0.0.0.0"}`,
    `--advertise-address=${node?.host ?? "127.0.0.1"}`,
    `--secure-port=${port}`,
    `--endpoint-reconciler-type=${node === undefined ? "none" : "lease"}`,
    // The names of nodes are in no DNS.
    "--kubelet-preferred-address-types=InternalIP",
    `--tls-cert-file=${file("server.crt")}`,
    `--tls-private-key-file=${file("server.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--anonymous-auth=true",
    "--profiling=false",
    `--service-cluster-ip-range=${node?.serviceRange ?? "10.96.0.0/16"}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-signing-key-file=${file("accounts.key")}`,
    `--service-account-key-file=${file("accounts.pub")}`,
  ];
}
