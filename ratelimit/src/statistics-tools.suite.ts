// Equipment of the tests that hold our statistics against other people's programs: starts them, finds them, and reads the text format of Prometheus.
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";

/** How long a program may take for what a test waits for, in milliseconds. */
export const WAIT = { timeout: 20_000, interval: 50 };

/** The statsd_exporter that `node tools/test-setup.ts` builds. */
export const STATSD_EXPORTER = cachedProgram("statsd_exporter-0.31.0", "statsd_exporter");

/** Python with the official OTLP messages. */
export const OTLP_PYTHON = cachedProgram("opentelemetry-proto-1.45.2", "python");

/** A program under test or beside it. */
export interface StartedProgram {
  /** What it has written to standard output, and to standard error. */
  output(): string;
  errors(): string;
  /** Ends it with the signal and answers its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts a program. It fails like one that ends at once when there is none: whoever waits for its output sees why. */
export function startProgram(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): StartedProgram {
  const child: ChildProcess = spawn(command, args, { env: { PATH: process.env["PATH"] ?? "", ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise<number | null>((resolve) => {
    child.on("close", (code) => resolve(code));
    child.on("error", (error) => {
      errors += `cannot start ${command}: ${error.message}; node tools/test-setup.ts installs it`;
      resolve(null);
    });
  });
  let output = "";
  let errors = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  return {
    output: () => output,
    errors: () => errors,
    stop(signal = "SIGKILL") {
      child.kill(signal);
      return exited;
    },
  };
}

/** Runs a program with this input to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  input: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.on("error", () => undefined); // It may end before it has read everything; its exit code tells.
  child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

/** A port of 127.0.0.1 that nobody listens on, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** One line of the text format. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The series of a text by `name{label="value",…}` with the labels in order, and the types of its families. */
export function readExposition(text: string): {
  readonly series: ReadonlyMap<string, Series>;
  readonly types: ReadonlyMap<string, string>;
} {
  const series = new Map<string, Series>();
  const types = new Map<string, string>();
  for (const line of text.split("\n")) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (type !== null) types.set(type[1] ?? "", type[2] ?? "");
    const match = /^([A-Za-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (line.startsWith("#") || match === null) continue;
    const labels: Record<string, string> = {};
    for (const [, name = "", value = ""] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = `${match[1] ?? ""}{${sorted.map(([name, value]) => `${name}="${value}"`).join(",")}}`;
    series.set(key, { name: match[1] ?? "", labels, value: Number(match[3]) });
  }
  return { series, types };
}

function cachedProgram(folder: string, program: string): string {
  const cache = process.env["XDG_CACHE_HOME"];
  return join(cache === undefined || cache === "" ? join(homedir(), ".cache") : cache, "weir", folder, "bin", program);
}
