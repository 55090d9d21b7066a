// Loads of certificates in numbers, with real files.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { LoadStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ReloadedFiles } from "./reloaded-files.ts";

describe("ReloadedFiles()", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-tls-sets-"));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("open() counts the first load, each that changes something, and each that cannot be used", async () => {
    const authority = await createAuthority({ commonName: "test", now: new Date(), validDays: 1 });
    const [certPath, keyPath] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const writePair = async (): Promise<void> => {
      const pair = await authority.issue({
        commonName: "server",
        dnsNames: ["localhost"],
        usage: "server",
        now: new Date(),
        validDays: 1,
      });
      await writeFile(certPath, pair.certPem);
      await writeFile(keyPath, pair.keyPem);
    };
    await writePair();
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const files = new ReloadedFiles({ log: silentLog() }).openTls(
      { certPath, keyPath },
      new LoadStatistics(store, "certs"),
    );
    const counts = (): readonly number[] =>
      ["load_attempts", "load_failures"].map((name) => store.counter(`certs.${name}`).value);
    expect(counts()).toEqual([1, 0]);
    expect(store.gauge("certs.num_values").value).toBe(2);
    files.reload();
    expect(counts()).toEqual([1, 0]); // Nothing has changed.
    await writePair();
    files.reload();
    expect(counts()).toEqual([2, 0]);
    await writeFile(keyPath, "no key");
    files.reload();
    expect(counts()).toEqual([3, 1]);
  });
});
