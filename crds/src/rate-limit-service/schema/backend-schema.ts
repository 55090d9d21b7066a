// The schema of the counter store of a RateLimitService: a union by type, each member with what the
// settings of the data plane know (BACKEND_TYPE, MEMORY_*, KVSTORE_*, ALTSTORE_*).
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { flag, list, text } from "../../schema/fields.ts";
import { count, duration, hostPort, objectName, secretKey } from "./service-fields.ts";

/** Most addresses of one store. */
const ADDRESSES_MAX = 64;

/** Bounds of the settings KVSTORE_POOL_SIZE, ALTSTORE_MAX_IDLE_CONNS and of databases. */
const POOL_SIZE_MAX = 1000;
const DATABASE_MAX = 65_535;
const KEYS_MAX = 1_000_000_000;

/** Name of a primary in sentinels: it is an item of a list with commas. */
const PRIMARY_NAME = /^[-A-Za-z0-9_.]+$/;
const PRIMARY_NAME_LENGTH_MAX = 128;

/** SRV records, as the setting ALTSTORE_SRV has them. */
const SRV_RECORD = /^_[-A-Za-z0-9]+\._(tcp|udp)\.[-A-Za-z0-9._]+$/;
const SRV_RECORD_LENGTH_MAX = 255;

/** Addresses for examples. */
const SENTINELS = ["sentinel-0.redis:26379", "sentinel-1.redis:26379", "sentinel-2.redis:26379"] as const;
const NODES = ["redis-0.redis:6379", "redis-1.redis:6379"] as const;
const MEMCACHED = ["memcached-0.memcached:11211", "memcached-1.memcached:11211"] as const;

/** One member of a union: the rule that it is there exactly with its type. */
function memberOf(
  type: string,
  { isRequired }: { readonly isRequired: boolean },
): CelRule<Readonly<Record<string, unknown>>> {
  const has = `has(self.${type})`;
  return {
    rule: isRequired ? `(self.type == '${type}') == ${has}` : `self.type == '${type}' || !${has}`,
    message: isRequired
      ? `${type} is required when type is ${type}, and must be absent otherwise`
      : `${type} must be absent unless type is ${type}`,
    fieldPath: `.${type}`,
    isKept: (self) =>
      isRequired ? (self["type"] === type) === type in self : self["type"] === type || !(type in self),
  };
}

const passwordSecret = secretKey(
  "Key of a Secret with the password, or with user:password. It is mounted as a file and read again when it changes.",
  { name: "redis", key: "password" },
);

const auth = z
  .object({ passwordSecretRef: passwordSecret })
  .describe("How to authenticate. Absent: without a password.");

/** TLS to a store. `stores` names them. */
function storeTls(stores: string, name: string) {
  return z
    .object({
      caSecretRef: secretKey(
        `Key of a Secret with the certificates of authorities to trust for ${stores}, in PEM, in addition to the public ones.`,
        { name: `${name}-ca`, key: "ca.crt" },
      ).optional(),
      clientCertificateSecret: objectName(
        "Name of a Secret of type kubernetes.io/tls in the same namespace: the client certificate (tls.crt) and its key (tls.key).",
        `${name}-client`,
      ).optional(),
      skipHostnameVerification: flag(
        `Accept certificates of ${stores} for any host name; their authority is still verified.`,
      ),
    })
    .describe(`TLS to ${stores}. An empty mapping trusts the public authorities. Absent: plain text.`);
}

const addresses = (example: readonly [string, ...string[]]) =>
  z.array(hostPort("host:port.", example[0])).min(1).max(ADDRESSES_MAX);
const listed = { "x-kubernetes-list-type": "atomic" } as const;

/** The addresses of a Redis, and how it is reached; also of the store of counters per second. */
const redisServer = {
  type: z
    .enum(["single", "sentinel", "cluster"])
    .describe("Kind of deployment. The field of the same name has its addresses."),
  single: z
    .object({
      address: hostPort("host:port of the server.", "redis.shop.svc:6379"),
      database: count([0, DATABASE_MAX], "Number of the database; 0 when absent.", 1).optional(),
    })
    .optional()
    .describe("A single server, or a proxy that looks like one."),
  sentinel: z
    .object({
      primary: z
        .string()
        .min(1, { abort: true })
        .max(PRIMARY_NAME_LENGTH_MAX)
        .regex(PRIMARY_NAME, 'must consist of letters, digits, "-", "_" and "."')
        .meta({
          description: "Name under which the sentinels know the primary, such as mymaster.",
          example: "mymaster",
        }),
      addresses: addresses(SENTINELS).meta({
        ...listed,
        description: "host:port of each sentinel.",
        example: SENTINELS,
      }),
      auth: auth.optional().describe("How to authenticate with the sentinels. Absent: without a password."),
    })
    .optional()
    .describe("A primary that sentinels watch over."),
  cluster: z
    .object({
      addresses: addresses(NODES).meta({
        ...listed,
        description: "host:port of some nodes; the others are found through them.",
        example: NODES,
      }),
    })
    .optional()
    .describe("A Redis Cluster."),
  auth: auth.optional(),
  poolSize: count(
    [1, POOL_SIZE_MAX],
    "Connections of each pod to the store, in a cluster to each node; 10 when absent.",
    20,
  ).optional(),
  connectTimeout: duration("Longest wait for a connection; 10s when absent.", "2s").optional(),
} as const;

const DEPLOYMENTS = ["single", "sentinel", "cluster"].map((type) => memberOf(type, { isRequired: true }));

const redis = z
  .object({
    ...redisServer,
    tls: storeTls("the store, its sentinels and the store of counters per second", "redis").optional(),
    commandTimeout: duration("Longest wait of a call for the store; 1s when absent.", "250ms").optional(),
    perSecond: z
      .object({
        ...redisServer,
        tls: flag(
          "Whether this store is reached by TLS, with the certificates of redis.tls. Absent: as the main store is.",
        ),
      })
      .optional()
      .meta({
        "x-kubernetes-validations": DEPLOYMENTS,
        description:
          "A store of its own for counters per second, which are many and live for a second. Absent: the main store has them.",
        example: { type: "single", single: { address: "redis-seconds.shop.svc:6379" } },
      }),
  })
  .meta({
    "x-kubernetes-validations": [
      ...DEPLOYMENTS,
      {
        rule: "!has(self.perSecond) || !has(self.perSecond.tls) || !self.perSecond.tls || has(self.tls)",
        message: "perSecond.tls needs tls of redis, which has the certificates of both stores",
        fieldPath: ".perSecond.tls",
        isKept: ({ tls, perSecond }) => perSecond?.tls !== true || tls !== undefined,
      } satisfies CelRule<{ tls?: object; perSecond?: { tls?: boolean } }>,
    ],
    description: "Counters in Redis, or in what speaks its protocol: shared by all pods.",
    example: {
      type: "single",
      single: { address: "redis.shop.svc:6379" },
      auth: { passwordSecretRef: { name: "redis", key: "password" } },
    },
  });

const memcached = z
  .object({
    addresses: list(hostPort("host:port.", MEMCACHED[0]), {
      max: ADDRESSES_MAX,
      example: MEMCACHED,
      description:
        "host:port of each node. A key is on one of them; the order matters, and must be that of other clients.",
    }),
    srv: text(SRV_RECORD_LENGTH_MAX)
      .regex(SRV_RECORD, "must be an SRV record such as _memcache._tcp.example.org")
      .optional()
      .meta({
        description: "SRV record that names the nodes, such as _memcache._tcp.example.org, in place of addresses.",
        example: "_memcache._tcp.example.org",
      }),
    srvRefresh: duration(
      "Time between lookups of the record. Absent: it is looked up at start only.",
      "30s",
    ).optional(),
    maxConnections: count(
      [1, POOL_SIZE_MAX],
      "Most connections of each pod to each node; 2 when absent.",
      4,
    ).optional(),
    timeout: duration("Longest wait for a connection, and for an answer; 500ms when absent.", "250ms").optional(),
    tls: storeTls("the nodes", "memcached").optional(),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "(has(self.addresses) && self.addresses.size() > 0) != has(self.srv)",
        message: "either addresses, at least one, or srv is required, and not both",
        fieldPath: ".addresses",
        isKept: ({ addresses = [], srv }) => addresses.length > 0 !== (srv !== undefined),
      },
      {
        rule: "!has(self.srvRefresh) || has(self.srv)",
        message: "srvRefresh needs srv",
        fieldPath: ".srvRefresh",
        isKept: ({ srvRefresh, srv }) => srvRefresh === undefined || srv !== undefined,
      },
    ] satisfies readonly CelRule<{ addresses?: readonly string[]; srv?: string; srvRefresh?: string }>[],
    description: "Counters in memcached: shared by all pods, counted after the answer.",
    example: { addresses: MEMCACHED, timeout: "250ms" },
  });

const memory = z
  .object({
    maxKeys: count(
      [1, KEYS_MAX],
      "Most counters of each pod, about 100 bytes each; 1000000 when absent.",
      100_000,
    ).optional(),
    allowUnsharedCounters: flag(
      "Allow more than one pod although each counts by itself, so that together they let through as many times a limit as there are pods.",
    ),
  })
  .describe("Counters in each pod: exact and without a server, but not shared, and lost when the pod ends.");

/** The counter store. */
export const backendSchema = z
  .object({
    type: z
      .enum(["memory", "redis", "memcached"])
      .describe(
        "Store of the counters. The field of the same name describes it, and is required for redis and memcached.",
      ),
    memory: memory.optional(),
    redis: redis.optional(),
    memcached: memcached.optional(),
  })
  .meta({
    "x-kubernetes-validations": [
      memberOf("memory", { isRequired: false }),
      memberOf("redis", { isRequired: true }),
      memberOf("memcached", { isRequired: true }),
    ],
    description: "Store of the counters.",
    example: { type: "redis", redis: { type: "single", single: { address: "redis.shop.svc:6379" } } },
  });
