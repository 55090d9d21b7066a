// Parses the command line of weir-client. Pure.

/** One pair of a descriptor. */
export interface ClientEntry {
  readonly key: string;
  readonly value: string;
}

/** The parsed command line. */
export interface ClientArguments {
  /** -dial_string: host:port, or unix:PATH. */
  readonly dialString: string;
  readonly domain: string;
  /** One per -descriptors. */
  readonly descriptors: readonly (readonly ClientEntry[])[];
  readonly hitsAddend: number;
  /** -timeout, in milliseconds. */
  readonly timeoutMs: number;
  /** -oltp-protocol: how a span of the call is exported; undefined = no span. */
  readonly traceProtocol: "http" | "grpc" | undefined;
  /** -grpc-use-tls with its files; undefined = plain text. */
  readonly tls: { readonly caPath?: string; readonly certPath?: string; readonly keyPath?: string } | undefined;
}

const UINT32_MAX = 2 ** 32 - 1;

/** Highest -timeout, in seconds. */
const TIMEOUT_MAX_SECONDS = 3600;

/** Flags that take a value, each with the text of the help. */
const VALUE_FLAGS = {
  dial_string: "HOST:PORT of the service, or unix:PATH. Default localhost:8081.",
  domain: "DOMAIN to ask in.",
  descriptors: "KEY=VALUE,… one descriptor; repeat it for several.",
  hits_addend: "COUNT of hits to add. Default 1.",
  timeout: "SECONDS to wait for the answer. Default 10.",
  "oltp-protocol":
    "http or grpc: exports a span of the call in OTLP, to where OTEL_EXPORTER_OTLP_ENDPOINT says. Default none.",
  "grpc-server-ca-file": "FILE of an authority to trust, in addition to the public ones and those of the system.",
  "grpc-cert-file": "FILE of the client's certificate chain, for mutual TLS.",
  "grpc-key-file": "FILE of its private key.",
} as const;

const SWITCHES = { "grpc-use-tls": "Connects with TLS." } as const;

type ValueFlag = keyof typeof VALUE_FLAGS;

/** The flags for the help. */
export const CLIENT_FLAGS: readonly { readonly flag: string; readonly effect: string }[] = Object.entries({
  ...VALUE_FLAGS,
  ...SWITCHES,
}).map(([flag, effect]) => ({ flag: `-${flag}`, effect }));

/** Reads the command line: `-flag value`, `-flag=value`, and the same with two dashes; a text is the problem. */
export function parseClientArguments(args: readonly string[]): ClientArguments | string {
  const values = new Map<ValueFlag, string[]>();
  let useTls = false;
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    const match = /^--?([a-z][a-z_-]*)(?:=(.*))?$/s.exec(argument);
    const name = match?.[1] ?? "";
    const inline = match?.[2];
    if (isValueFlag(name)) {
      const value = inline ?? args[++index];
      if (value === undefined) return `-${name} needs a value: ${VALUE_FLAGS[name]}`;
      values.set(name, [...(values.get(name) ?? []), value]);
    } else if (Object.hasOwn(SWITCHES, name)) {
      if (inline !== undefined && inline !== "true" && inline !== "false")
        return `-${name} is true or false, current value is ${inline}`;
      useTls = inline !== "false";
    } else {
      return `there is no ${match === null ? "argument" : "flag"} ${argument}; --help lists them`;
    }
  }
  return check(values, useTls);
}

function check(values: ReadonlyMap<ValueFlag, readonly string[]>, useTls: boolean): ClientArguments | string {
  const last = (flag: ValueFlag): string | undefined => values.get(flag)?.at(-1);
  const descriptors: ClientEntry[][] = [];
  for (const text of values.get("descriptors") ?? []) {
    const entries = parseDescriptor(text);
    if (entries === undefined)
      return `-descriptors must be KEY=VALUE pairs separated by commas, current value is ${text}`;
    descriptors.push(entries);
  }
  const domain = last("domain") ?? "";
  if (domain === "") return "-domain is missing";
  if (descriptors.length === 0) return "-descriptors is missing: KEY=VALUE pairs separated by commas";
  const hitsAddend = parseNumber(last("hits_addend") ?? "1", UINT32_MAX);
  if (hitsAddend === undefined)
    return `-hits_addend must be a whole number from 0 to ${UINT32_MAX}, current value is ${last("hits_addend") ?? ""}`;
  const timeoutSeconds = parseNumber(last("timeout") ?? "10", TIMEOUT_MAX_SECONDS);
  if (timeoutSeconds === undefined || timeoutSeconds === 0) {
    return `-timeout must be a whole number of seconds from 1 to ${TIMEOUT_MAX_SECONDS}, current value is ${last("timeout") ?? ""}`;
  }
  const traceProtocol = last("oltp-protocol") ?? "";
  if (traceProtocol !== "" && traceProtocol !== "http" && traceProtocol !== "grpc")
    return `-oltp-protocol is http, grpc or empty, current value is ${traceProtocol}`;
  const files = filesOf(last);
  if (!useTls && Object.keys(files).length > 0) return "certificate files are given, but not -grpc-use-tls";
  return {
    dialString: last("dial_string") ?? "localhost:8081",
    domain,
    descriptors,
    hitsAddend,
    timeoutMs: timeoutSeconds * 1000,
    traceProtocol: traceProtocol === "" ? undefined : traceProtocol,
    tls: useTls ? files : undefined,
  };
}

function filesOf(last: (flag: ValueFlag) => string | undefined): {
  caPath?: string;
  certPath?: string;
  keyPath?: string;
} {
  const caPath = last("grpc-server-ca-file");
  const certPath = last("grpc-cert-file");
  const keyPath = last("grpc-key-file");
  return { ...(caPath && { caPath }), ...(certPath && { certPath }), ...(keyPath && { keyPath }) };
}

/** A value may contain an equals sign, as base64 does; a key may not. */
function parseDescriptor(text: string): ClientEntry[] | undefined {
  const entries: ClientEntry[] = [];
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    if (at <= 0) return undefined;
    entries.push({ key: pair.slice(0, at), value: pair.slice(at + 1) });
  }
  return entries;
}

function parseNumber(text: string, max: number): number | undefined {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : undefined;
  return value === undefined || value > max ? undefined : value;
}

function isValueFlag(name: string): name is ValueFlag {
  return Object.hasOwn(VALUE_FLAGS, name);
}
