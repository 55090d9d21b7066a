// Writes the files that the programs of a node start with: the configurations of containerd, its network plugins,
// kubelet and kube-proxy, and the manifest of CoreDNS.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { kubeconfigText } from "../kubernetes/cluster-files.ts";
import type { NodePlace } from "./node-access.ts";

/** Image of the container that holds a pod's namespaces. */
export const PAUSE_IMAGE = "localhost/pause:1";

/** Image of the DNS server. */
export const COREDNS_IMAGE = "localhost/coredns:1";

/** Folder in which Debian's package installs the network plugins. */
const CNI_PLUGINS = "/usr/lib/cni";

/** Writes the files; JSON is YAML, too. */
export function writeNodeFiles({ folder, addresses, cgroup, cluster }: NodePlace): void {
  const server = cluster.url.replace(
    "127.0.0.1",
    addresses.host.includes(":") ? `[${addresses.host}]` : addresses.host,
  );
  const podRanges = addresses.families.map(({ podRange }) => podRange);
  mkdirSync(join(folder, "cni"), { recursive: true });
  const kubeconfig = join(folder, "kubeconfig");
  const files: Readonly<Record<string, string>> = {
    kubeconfig: kubeconfigText(server, cluster.caPem, cluster.adminToken),
    "containerd.toml": containerdConfig(folder),
    "cni/10-pods.conflist": JSON.stringify(podNetwork(folder, podRanges)),
    "resolv.conf": "",
    "kubelet.yaml": JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      containerRuntimeEndpoint: `unix://${join(folder, "containerd.sock")}`,
      cgroupDriver: "cgroupfs",
      cgroupRoot: cgroup,
      failSwapOn: false,
      ...(podRanges.join().includes(":") && { address: "::" }), // Of both families.
      clusterDNS: [addresses.dns],
      clusterDomain: "cluster.local",
      resolvConf: join(folder, "resolv.conf"),
      // Only this machine reaches it, and the tests may do everything.
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: "AlwaysAllow" },
      evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
      imageGCHighThresholdPercent: 100,
      // A kubelet removes the logs of pods that it does not know, such as those of another node of this machine.
      podLogsDir: join(folder, "pod-logs"),
      maxPods: 200,
      // A changed Secret is in the files of running pods within this time, not a minute.
      syncFrequency: "5s",
      configMapAndSecretChangeDetectionStrategy: "Watch",
    }),
    "proxy.yaml": JSON.stringify({
      apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
      kind: "KubeProxyConfiguration",
      clientConnection: { kubeconfig },
      mode: "nftables",
      hostnameOverride: "node-1",
      clusterCIDR: podRanges.join(","),
      conntrack: { maxPerCore: 0 },
    }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** restrict_oom_score_adj: without CAP_SYS_RESOURCE runc cannot lower the score of a container. */
function containerdConfig(folder: string): string {
  const file = (name: string): string => JSON.stringify(join(folder, name));
  return `version = 2
root = ${file("containerd")}
state = ${file("containerd-run")}
[grpc]
  address = ${file("containerd.sock")}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${CNI_PLUGINS}"
    conf_dir = ${file("cni")}
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`;
}

function podNetwork(folder: string, podRanges: readonly string[]): object {
  const ipam = {
    type: "host-local",
    dataDir: join(folder, "ipam"),
    ranges: podRanges.map((subnet) => [{ subnet }]),
    routes: podRanges.map((range) => ({ dst: range.includes(":") ? "::/0" : "0.0.0.0/0" })),
  };
  return {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      { type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false, hairpinMode: true, ipam },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

/** CoreDNS for Services and headless Services, as kubeadm installs it. */
export function coreDnsManifests(dnsAddress: string): string {
  const namespace = "kube-system";
  const corefile = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    ttl 1
  }
}
`;
  const labels = { "k8s-app": "kube-dns" };
  const reads = { verbs: ["list", "watch"] };
  const container = {
    name: "coredns",
    image: COREDNS_IMAGE,
    args: ["-conf", "/etc/coredns/Corefile"],
    volumeMounts: [{ name: "config", mountPath: "/etc/coredns" }],
    readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
  };
  const pod = {
    serviceAccountName: "coredns",
    dnsPolicy: "Default",
    containers: [container],
    volumes: [{ name: "config", configMap: { name: "coredns" } }],
  };
  const objects = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "coredns", namespace } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "coredns" },
      rules: [
        { apiGroups: [""], resources: ["endpoints", "services", "pods", "namespaces"], ...reads },
        { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], ...reads },
      ],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "coredns" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "coredns" },
      subjects: [{ kind: "ServiceAccount", name: "coredns", namespace }],
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "coredns", namespace }, data: { Corefile: corefile } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "coredns", namespace },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace },
      spec: {
        clusterIP: dnsAddress,
        selector: labels,
        ports: ["UDP", "TCP"].map((protocol) => ({ name: `dns-${protocol.toLowerCase()}`, port: 53, protocol })),
      },
    },
  ];
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}
