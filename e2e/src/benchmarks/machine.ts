// The machine on which the figures of a benchmark were measured, and the cores for its server and load generator.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

/**
 * Words to put in front of command lines, so that the server has one core and everything else
 * another.
 */
export interface Cores {
  readonly server: readonly string[];
  readonly generator: readonly string[];
  /** For a server that may use the generator's core, too. */
  readonly both: readonly string[];
  readonly note: string;
}

/**
 * Server on one core, load and stores on another, where the machine has two and the tool to say so.
 * The calling process goes to the second as well.
 */
export function assignCores(): Cores {
  try {
    execFileSync("taskset", ["-c", "0,1", "true"], { stdio: "ignore" });
    execFileSync("taskset", ["-a", "-p", "-c", "1", String(process.pid)], { stdio: "ignore" });
    return {
      server: ["taskset", "-c", "0"],
      generator: ["taskset", "-c", "1"],
      both: ["taskset", "-c", "0,1"],
      note: "server on core 0; load generator and stores on core 1",
    };
  } catch {
    return { server: [], generator: [], both: [], note: "cores not pinned (no taskset, or one core only)" };
  }
}

/** Processor, memory, system and versions, in two lines. */
export function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? "unknown processor";
  const gibibytes = (totalmem() / 2 ** 30).toFixed(0);
  const load = loadavg().map((value) => value.toFixed(2));
  return [
    `${processors.length} × ${model}, ${gibibytes} GiB, ${distribution()}, Linux ${release()}; load average ${load.join(" ")}`,
    `Node ${process.versions.node}, Redis ${versionOf("redis-server", ["--version"])}, memcached ${versionOf("memcached", ["-V"])}`,
  ].join("\n");
}

function versionOf(program: string, args: readonly string[]): string {
  try {
    return (
      firstVersion(execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })) ??
      "of an unknown version"
    );
  } catch {
    return "not installed";
  }
}

/**
 * The first thing in `text` that looks like a version: two or more numbers with dots between them.
 */
export function firstVersion(text: string): string | undefined {
  return /\d+(?:\.\d+)+/.exec(text)?.[0];
}

function distribution(): string {
  try {
    return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? process.platform;
  } catch {
    return process.platform; // No such file: not one of the usual distributions.
  }
}
