// The processor time a process has used or was kept from, and the memory it holds, read from the
// kernel: what the server costs, without asking the server.
import { readFileSync } from "node:fs";

/** Length of the kernel's tick in milliseconds: USER_HZ is 100 on every Linux that Node runs on. */
const TICK_MS = 10;

/**
 * Processor time of a process and all its threads so far, in milliseconds, user and kernel
 * together.
 */
export function cpuTimeMs(pid: number): number {
  return parseCpuTimeMs(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

/**
 * Time the main thread of a process was ready to run and had no core, in milliseconds so far: what
 * other programs of the machine took from it. NaN where the kernel does not keep that count.
 */
export function waitedForCoreMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
  } catch {
    return Number.NaN; // A kernel without scheduler statistics.
  }
}

/**
 * The same as cpuTimeMs() from the text of /proc/<pid>/stat (proc(5), fields utime and stime,
 * numbers 14 and 15).
 */
export function parseCpuTimeMs(stat: string): number {
  // The second field is the program's name in brackets and may hold spaces and brackets itself; all
  // after the last one is plain.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory of a process in MiB. */
export function residentMebibytes(pid: number): number {
  return parseMebibytes(readFileSync(`/proc/${pid}/status`, "utf8"), "VmRSS");
}

/** The largest so far. */
export function peakMebibytes(pid: number): number {
  return parseMebibytes(readFileSync(`/proc/${pid}/status`, "utf8"), "VmHWM");
}

/**
 * A field of the text of /proc/<pid>/status (proc(5), in units of 1024 bytes). NaN when it has none, as of a process
 * that ended.
 */
export function parseMebibytes(status: string, field: "VmRSS" | "VmHWM"): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) / 1024;
}
