// The settings of the local stack: its ports, the folder of its state and the manifests it serves.
// The programs get a fixed environment (setup/programs.ts).
import { settingRowsOf, settingsFrom } from "@weir/common/settings/program-settings";
import type { Env, EnvReader, SettingRow } from "@weir/common/settings/read-env";

/** The ports of the stack by what listens there. */
export interface StackPorts {
  readonly ads: number;
  readonly controlPlaneHttp: number;
  readonly controlPlaneConsole: number;
  readonly rateLimitGrpc: number;
  readonly rateLimitHttp: number;
  readonly rateLimitDebug: number;
  readonly rateLimitMetrics: number;
  readonly accountHttp: number;
  readonly accountMetrics: number;
}

/** All settings of the local stack. */
export interface StackSettings {
  /** 0 is any free port; setup/ports.ts replaces it by one. */
  readonly ports: StackPorts;
  /** Folder with RateLimitConfig manifests, relative to the root of the repository or absolute. */
  readonly sourceDirectory: string;
  /**
   * Folder for certificates, account data and logs, relative to the root of the repository or
   * absolute.
   */
  readonly runDirectory: string;
}

/** The listener on a port of the stack, and the setting that moves it. */
export interface PortOwner {
  readonly port: keyof StackPorts;
  readonly what: string;
  readonly setting: string;
}

/** Every port of the stack, in the order in which the programs start. */
export const PORT_OWNERS: readonly PortOwner[] = [
  { port: "ads", what: "control plane ADS", setting: "ADS_PORT" },
  { port: "controlPlaneHttp", what: "control plane HTTP", setting: "HTTP_PORT" },
  { port: "controlPlaneConsole", what: "control plane console", setting: "CONSOLE_PORT" },
  { port: "rateLimitGrpc", what: "rate limit gRPC", setting: "GRPC_PORT" },
  { port: "rateLimitHttp", what: "rate limit HTTP", setting: "PORT" },
  { port: "rateLimitDebug", what: "rate limit debug", setting: "DEBUG_PORT" },
  { port: "rateLimitMetrics", what: "rate limit metrics", setting: "PULLSTATS_ADDR" },
  { port: "accountHttp", what: "account HTTP", setting: "ACCOUNT_PORT" },
  { port: "accountMetrics", what: "account metrics", setting: "METRICS_PORT" },
];

/**
 * The settings of the stack from an environment; every bad variable is named in one SettingsError.
 */
export function parseStackSettings(env: Env): StackSettings {
  return settingsFrom(env, readSettings);
}

/** Every setting with its default and effect, for --help. */
export function describeStackSettings(): readonly SettingRow[] {
  return settingRowsOf(readSettings);
}

function readSettings(read: EnvReader): StackSettings {
  return {
    ports: {
      ads: read.port("ADS_PORT", {
        default: 18000,
        effect: "Port of the control plane for rate limit pods (ADS over mutual TLS).",
      }),
      controlPlaneHttp: read.port("HTTP_PORT", {
        default: 8090,
        effect: "Port of the control plane for the rollout API, probes and metrics.",
      }),
      controlPlaneConsole: read.port("CONSOLE_PORT", {
        default: 8092,
        effect: "Port of the console of the control plane, also for weir top and weir rollout.",
      }),
      rateLimitGrpc: read.port("GRPC_PORT", { default: 8081, effect: "Port of the rate limit service for gRPC." }),
      rateLimitHttp: read.port("PORT", {
        default: 8080,
        effect: "Port of the rate limit service for HTTP (/json, /healthcheck).",
      }),
      rateLimitDebug: read.port("DEBUG_PORT", {
        default: 6070,
        effect: "Port of the rate limit service for /rlconfig and /stats.",
      }),
      rateLimitMetrics: readMetricsPort(read),
      accountHttp: read.port("ACCOUNT_PORT", { default: 8000, effect: "Port of the account service." }),
      accountMetrics: read.port("METRICS_PORT", { default: 9464, effect: "Port of the account service's metrics." }),
    },
    sourceDirectory: read.string("SOURCE_DIRECTORY", {
      default: "examples/limits",
      effect: "Folder with the RateLimitConfig manifests to serve.",
    }),
    runDirectory: read.string("RUN_DIRECTORY", {
      default: ".run",
      effect: "Folder for certificates, account data and logs; accounts survive as long as it does.",
    }),
  };
}

// The rate limit service takes an address here, so the stack does too; only its port can be chosen,
// as everything listens on the local machine only.
function readMetricsPort(read: EnvReader): number {
  const address = read.string("PULLSTATS_ADDR", {
    default: ":9090",
    effect: "Port of the rate limit service's metrics, as `:port`.",
  });
  const port = /^(?:127\.0\.0\.1|localhost)?:(\d{1,5})$/.exec(address)?.[1];
  if (port === undefined || Number(port) > 65535) {
    read.problem("PULLSTATS_ADDR", address, "a port on this machine with a colon before it, such as :9090");
    return 0;
  }
  return Number(port);
}
