// Times since the start of a simulation, for people. Pure.

/** A duration as Go prints it: `1h30m`, `4m30s`, `9.9s`, `0s`. */
export function formatElapsed(ms: number): string {
  const [hours, minutes, seconds] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, (ms % 60_000) / 1000];
  const text = `${hours > 0 ? `${hours}h` : ""}${minutes > 0 ? `${minutes}m` : ""}`;
  return seconds > 0 || text === "" ? `${text}${seconds}s` : text;
}
