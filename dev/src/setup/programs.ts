// The programs of the local stack and the environment of each. A program gets nothing else, so that
// no variable of the user's shell changes the stack.
import type { DevelopmentCertificates } from "./certificates.ts";
import { RATE_LIMIT_NAME } from "./certificates.ts";
import { STACK_HOST } from "./ports.ts";
import type { StackPorts } from "../settings.ts";

/** Variables of the machine that programs need to run, or for language and time zone. */
const PASSED_ON = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"] as const;

/** The node id of the stack's one rate limit pod; the part before the slash is its fleet. */
const POD_NODE_ID = "default/ratelimit-1";

/** One program of the stack. */
export interface ProgramPlan {
  /** Its name at the start of each of its lines. */
  readonly name: string;
  /** Its launcher in node_modules/.bin. */
  readonly launcher: string;
  readonly env: Readonly<Record<string, string>>;
  /** Responds with 200 once the program is ready. */
  readonly readyUrl: string;
}

/** The facts that the plans are made from; all paths absolute. */
export interface StackPlace {
  readonly ports: StackPorts;
  readonly certificates: DevelopmentCertificates;
  readonly sourceDirectory: string;
  readonly accountDirectory: string;
  readonly machine: Readonly<Record<string, string | undefined>>;
}

/** The part of the machine's environment that every program gets. */
export function machineEnv(machine: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = machine[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The programs of the stack in the order in which they start. */
export function planPrograms(place: StackPlace): {
  readonly controlPlane: ProgramPlan;
  readonly rateLimit: ProgramPlan;
  readonly account: ProgramPlan;
} {
  return { controlPlane: planControlPlane(place), rateLimit: planRateLimit(place), account: planAccount(place) };
}

function planControlPlane({ ports, certificates, sourceDirectory, machine }: StackPlace): ProgramPlan {
  return {
    name: "control plane",
    launcher: "weir-control-plane",
    readyUrl: `http://${STACK_HOST}:${ports.controlPlaneHttp}/readyz`,
    env: {
      ...commonEnv(machine),
      SOURCE: "directory",
      SOURCE_DIRECTORY: sourceDirectory,
      ADS_HOST: STACK_HOST,
      ADS_PORT: String(ports.ads),
      ADS_TLS_CERT: certificates.controlPlane.cert,
      ADS_TLS_KEY: certificates.controlPlane.key,
      ADS_TLS_CLIENT_CACERT: certificates.ca.cert,
      ADS_ALLOWED_SANS: RATE_LIMIT_NAME,
      HTTP_HOST: STACK_HOST,
      HTTP_PORT: String(ports.controlPlaneHttp),
      CONSOLE_PORT: String(ports.controlPlaneConsole),
    },
  };
}

function planRateLimit({ ports, certificates, machine }: StackPlace): ProgramPlan {
  return {
    name: "rate limit",
    launcher: "weir-ratelimit",
    readyUrl: `http://${STACK_HOST}:${ports.rateLimitHttp}/healthcheck`,
    env: {
      ...commonEnv(machine),
      HOST: STACK_HOST,
      PORT: String(ports.rateLimitHttp),
      GRPC_HOST: STACK_HOST,
      GRPC_PORT: String(ports.rateLimitGrpc),
      DEBUG_HOST: STACK_HOST,
      DEBUG_PORT: String(ports.rateLimitDebug),
      USE_PUSHSTATS: "false",
      USE_PULLSTATS: "true",
      PULLSTATS_ADDR: `${STACK_HOST}:${ports.rateLimitMetrics}`,
      BACKEND_TYPE: "memory",
      // A login that one limit of examples/limits/account.yaml refuses does not use up the others.
      STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true",
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_NODE_ID: POD_NODE_ID,
      CONFIG_GRPC_XDS_SERVER_URL: `localhost:${ports.ads}`, // A name, as TLS knows servers by name.
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: certificates.ca.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: certificates.rateLimit.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: certificates.rateLimit.key,
      // The control plane is on this machine: a lost stream is retried soon.
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "200ms",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "200ms",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "2s",
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "true",
    },
  };
}

function planAccount({ ports, accountDirectory, machine }: StackPlace): ProgramPlan {
  return {
    name: "account",
    launcher: "weir-account",
    readyUrl: `http://${STACK_HOST}:${ports.accountHttp}/readyz`,
    env: {
      ...commonEnv(machine),
      HOST: STACK_HOST,
      PORT: String(ports.accountHttp),
      METRICS_HOST: STACK_HOST,
      METRICS_PORT: String(ports.accountMetrics),
      STORE: "embedded",
      MEDIA: "local",
      DATA_DIR: accountDirectory,
      PUBLIC_ORIGIN: `http://localhost:${ports.accountHttp}`,
      MAIL: "log",
      RATE_LIMIT_GRPC: `${STACK_HOST}:${ports.rateLimitGrpc}`,
      // A busy machine answers later than the default of 50 ms, and then the account service counts some calls itself.
      RATE_LIMIT_TIMEOUT: "2s",
    },
  };
}

function commonEnv(machine: Readonly<Record<string, string | undefined>>): Record<string, string> {
  // Without a load balancer there is nothing to drain before a stop.
  return { ...machineEnv(machine), LOG_LEVEL: "info", LOG_FORMAT: "json", SHUTDOWN_DRAIN: "0s", SHUTDOWN_GRACE: "2s" };
}
