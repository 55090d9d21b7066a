// The number of workers by the quota of the container.
import { describe, expect, it } from "vitest";
import { parseSettings } from "../settings.ts";
import { workerCount } from "./worker-count.ts";

const KVSTORE = { BACKEND_TYPE: "kvstore", KVSTORE_URL: "/run/redis.sock" };

describe("workerCount()", () => {
  const V1_QUOTA = "/sys/fs/cgroup/cpu/cpu.cfs_quota_us";
  const V1_PERIOD = "/sys/fs/cgroup/cpu/cpu.cfs_period_us";

  it.each([
    { what: "a quota of 2.5 processors", files: { "/sys/fs/cgroup/cpu.max": "250000 100000\n" }, expected: 2 },
    { what: "a quota of half a processor", files: { "/sys/fs/cgroup/cpu.max": "50000 100000\n" }, expected: 1 },
    { what: "a quota of 6 processors", files: { "/sys/fs/cgroup/cpu.max": "600000 100000\n" }, expected: 4 },
    {
      what: "no quota and 3 processors",
      files: { "/sys/fs/cgroup/cpu.max": "max 100000\n" },
      processors: 3,
      expected: 3,
    },
    {
      what: "a quota above the processors",
      files: { "/sys/fs/cgroup/cpu.max": "400000 100000" },
      processors: 2,
      expected: 2,
    },
    { what: "an old quota", files: { [V1_QUOTA]: "300000\n", [V1_PERIOD]: "100000\n" }, expected: 3 },
    { what: "no old quota", files: { [V1_QUOTA]: "-1\n", [V1_PERIOD]: "100000\n" }, processors: 1, expected: 1 },
    { what: "no cgroup and 16 processors", files: {}, processors: 16, expected: 4 },
  ])("gives $expected for auto and $what", ({ files, processors = 8, expected }) => {
    const settings = parseSettings({ ...KVSTORE, WORKERS: "auto" });
    const readText = (path: string): string | undefined => (files as Record<string, string>)[path];
    expect(workerCount(settings, readText, processors)).toBe(expected);
  });

  it("gives the number that is set, whatever the quota", () => {
    expect(workerCount(parseSettings({ ...KVSTORE, WORKERS: "7" }), () => "100000 100000", 1)).toBe(7);
  });

  it("gives 1 for auto and counters in memory", () => {
    expect(workerCount(parseSettings({ BACKEND_TYPE: "memory", WORKERS: "auto" }), () => "400000 100000", 4)).toBe(1);
  });
});
