// The rows of `make bench`: which load is put on which servers.

/** A way to send calls. */
export interface Load {
  /** Part of the names of rows. */
  readonly name: string;
  /** As tables say it. */
  readonly title: string;
  readonly connections: number;
  /** Calls in flight on each connection of a closed loop; undefined for an open loop. */
  readonly inFlight?: number;
  /** Calls a second of an open loop. */
  readonly rate?: number;
  /** Different keys. */
  readonly keys: number;
  readonly hasTraceHeaders?: boolean;
  /** The rule of `group.hasLimits` that calls are about; absent: one fixed window. */
  readonly rule?: LimitRule;
  /** A rule of another domain is edited once a second meanwhile. */
  readonly hasEdits?: boolean;
}

/** Ways to count that are compared with each other; `list` has three limits. `three` are three fixed windows in one call. */
export type LimitRule = "fixed" | "sliding" | "bucket" | "list" | "three";

/** A server that is measured; "nothing" answers prepared bytes. */
export type Contender = "weir" | "weir, 2 workers" | "envoyproxy/ratelimit" | "earlier" | "nothing";

/** Servers that run at the same time with the same settings, and what each of them is asked. */
export interface LoadGroup {
  readonly name: string;
  readonly title: string;
  readonly store: "memory" | "redis" | "memcached";
  readonly isTls?: boolean;
  /** Every call is about a key that is over its limit, which the local cache knows. */
  readonly isOverLimit?: boolean;
  /** Everything that costs something per decision is switched on. */
  readonly isEverythingOn?: boolean;
  /** There is a rule for each way to count, which only this version has. */
  readonly hasLimits?: boolean;
  /** Rules of other domains, in files of RULES_PER_FILE each. */
  readonly ruleFiles?: number;
  /** The servers may use both cores of the benchmark; otherwise one. */
  readonly usesBothCores?: boolean;
  /** Without the earlier commit, which is next to "weir" when one is named, and without "nothing". */
  readonly contenders: readonly Contender[];
  readonly loads: readonly Load[];
}

/** Rules in each file of a group with `ruleFiles`. */
export const RULES_PER_FILE = 200;

/** Different keys that most loads ask about. */
const MANY = 100_000;

/** Keys over their limit: so few that the local cache knows all when the measured time begins. */
const OVER = 500;

const pipelined = { connections: 8, inFlight: 64 } as const;
const P100K: Load = { name: "8x64", title: "8 × 64, 100,000 keys", ...pipelined, keys: MANY };
const HOT: Load = { name: "8x64-hot", title: "8 × 64, one hot key", ...pipelined, keys: 1 };
const P1M: Load = { name: "8x64-1m", title: "8 × 64, 1,000,000 keys", ...pipelined, keys: 1_000_000 };
const FEW: Load = { name: "16x1", title: "16 × 1", connections: 16, inFlight: 1, keys: MANY };
const MORE: Load = { name: "256x1", title: "256 × 1", connections: 256, inFlight: 1, keys: MANY };
const OPEN_5K: Load = { name: "open-5k", title: "open loop, 5,000/s", connections: 8, rate: 5000, keys: MANY };
const OPEN_50K: Load = { name: "open-50k", title: "open loop, 50,000/s", connections: 8, rate: 50_000, keys: MANY };
const OPEN_2K: Load = { name: "open-2k", title: "open loop, 2,000/s", connections: 8, rate: 2000, keys: MANY };
const EDITED: Load = { ...OPEN_2K, name: "open-2k-edits", title: "the same, an edit a second", hasEdits: true };
const TRACED: Load = { ...P100K, name: "8x64-trace", title: "8 × 64, trace headers", hasTraceHeaders: true };
const OVER_LIMIT: Load = { name: "8x64", title: "8 × 64", ...pipelined, keys: OVER };

/** A load on each way to count. */
function limitLoads({ name, title, ...load }: Load): readonly Load[] {
  const rules = ["fixed", "sliding", "bucket", "list", "three"] as const;
  return rules.map((rule) => ({ ...load, name: `${name}-${rule}`, title: `${title}: ${rule}`, rule }));
}

/** Every row; those of an earlier commit are measured when one is named. */
export const LOAD_GROUPS: readonly LoadGroup[] = [
  {
    name: "redis",
    title: "Redis",
    store: "redis",
    contenders: ["weir", "envoyproxy/ratelimit"],
    // The load with trace headers follows the one without, which it is compared with.
    loads: [P100K, TRACED, HOT, P1M, FEW, MORE, OPEN_5K, OPEN_50K],
  },
  {
    // For the memory of servers that had no other load before.
    name: "fresh",
    title: "Redis, fresh servers",
    store: "redis",
    contenders: ["weir", "envoyproxy/ratelimit"],
    loads: [P100K],
  },
  {
    name: "memory",
    title: "Memory",
    store: "memory",
    contenders: ["weir"],
    loads: [P100K, HOT, P1M, FEW, MORE, OPEN_5K, OPEN_50K],
  },
  {
    name: "tls",
    title: "Redis, gRPC over TLS",
    store: "redis",
    isTls: true,
    contenders: ["weir", "envoyproxy/ratelimit"],
    loads: [P100K],
  },
  {
    name: "over-limit",
    title: "Over the limit, local cache",
    store: "redis",
    isOverLimit: true,
    contenders: ["weir", "envoyproxy/ratelimit"],
    loads: [OVER_LIMIT],
  },
  {
    name: "workers-tls",
    title: "Over the limit, local cache, gRPC over TLS, two cores",
    store: "redis",
    isTls: true,
    isOverLimit: true,
    usesBothCores: true,
    contenders: ["weir", "weir, 2 workers"],
    loads: [OVER_LIMIT],
  },
  {
    name: "workers-redis",
    title: "Redis, two cores",
    store: "redis",
    usesBothCores: true,
    contenders: ["weir", "weir, 2 workers"],
    loads: [P100K],
  },
  {
    name: "everything-on",
    title: "Redis, everything switched on",
    store: "redis",
    isEverythingOn: true,
    contenders: ["weir"],
    loads: [P100K, FEW],
  },
  {
    name: "rules",
    title: "Memory, 100,000 rules",
    store: "memory",
    ruleFiles: 500,
    contenders: ["weir"],
    loads: [OPEN_2K, EDITED],
  },
  {
    name: "limits",
    title: "Redis, ways to count",
    store: "redis",
    hasLimits: true,
    contenders: ["weir"],
    loads: [...limitLoads(P100K), ...limitLoads(FEW), { ...HOT, name: "8x64-hot-bucket", rule: "bucket" }],
  },
  { name: "memcached", title: "memcached", store: "memcached", contenders: ["weir"], loads: [P100K, FEW, OPEN_5K] },
];

/** The loads of a short run: one of each kind, so that every part of the benchmark works. */
const QUICK_LOADS = ["8x64", "16x1", "open-5k"] as const;

/**
 * The groups with what is wanted of them: only rows whose names have every word of `only`, the earlier commit and its
 * row of Weir only where `hasEarlier`, and every load with "nothing", unless only versions of Weir are compared: their
 * processor time needs no ceiling.
 */
export function selectGroups(options: {
  readonly only: readonly string[];
  readonly hasEarlier: boolean;
  readonly isQuick: boolean;
}): readonly SelectedGroup[] {
  const { only, hasEarlier, isQuick } = options;
  return LOAD_GROUPS.flatMap((group) => {
    const isAlone = group.isEverythingOn === true && !hasEarlier;
    // An earlier version would load none of the rules.
    if (isAlone || (group.hasLimits === true && hasEarlier) || (isQuick && !hasEarlier && group.name === "memcached"))
      return [];
    const rows = group.loads
      .filter((load) => !isQuick || QUICK_LOADS.some((name) => name === load.name))
      .map((load) => {
        const isWanted = (contender: Contender): boolean =>
          only.every((word) => rowName(group.name, load.name, contender).includes(word));
        const hasPair = hasEarlier && isWanted("earlier");
        const contenders = group.contenders.flatMap((contender): readonly Contender[] => {
          if (contender === "weir" && hasPair) return ["weir", "earlier"];
          return isWanted(contender) ? [contender] : [];
        });
        return {
          load,
          contenders: contenders.join() === "weir,earlier" ? contenders : [...contenders, "nothing" as const],
        };
      })
      .filter(({ contenders }) => contenders[0] !== "nothing");
    return rows.length === 0 ? [] : [{ group, rows }];
  });
}

/** A group and which of its servers each load is put on. */
export interface SelectedGroup {
  readonly group: LoadGroup;
  readonly rows: readonly { readonly load: Load; readonly contenders: readonly Contender[] }[];
}

/** Such as `redis/8x64/weir`. */
export function rowName(group: string, load: string, contender: Contender): string {
  return `${group}/${load}/${contender}`;
}
