// Reads processes from /proc, so that a test can check that none is left behind.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The processes whose parent is `pid`. */
export function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => readStat(each)?.parent === pid);
}

/** The command line of a process, its words joined by spaces; empty when it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return ""; // It ended before this look.
  }
}

/** Returns true if the process still runs. A zombie, which ended and was not waited for, does not. */
export function isRunning(pid: number): boolean {
  const state = readStat(pid)?.state;
  return state !== undefined && state !== "Z" && state !== "X";
}

/** The inodes of the sockets of a process. */
export function socketInodes(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(join(folder, name)))?.[1] ?? [];
    } catch {
      return []; // Closed between the listing and this look.
    }
  });
}

// proc(5): the second field is the program's name in brackets and may hold anything; state and
// parent follow the last bracket.
function readStat(pid: number): { readonly state: string; readonly parent: number } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // It ended between the listing and this look.
  }
  const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state, parent: Number(parent) };
}
