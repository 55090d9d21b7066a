// Tests of `weir-config-check` on real directories: the lines of the original, the place in the
// file, and the exit code.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { runConfigCheck } from "./config-check.ts";

const VALID = "domain: DOMAIN\ndescriptors:\n  - key: user\n    rate_limit: {unit: minute, requests_per_unit: 5}\n";

/** A custom resource manifest. */
function manifest(name: string, domain: string): string {
  return [
    "apiVersion: ratelimit.weir.dev/v1alpha1",
    "kind: RateLimitConfig",
    `metadata: {name: ${name}}`,
    "spec:",
    `  domain: ${domain}`,
    "  descriptors:",
    "    - key: user",
    "      rateLimit: {unit: minute, requestsPerUnit: 5}",
    "",
  ].join("\n");
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-config-check-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Runs the program; the folder of the test is written as DIR in its output. */
async function check(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = { stdout: "", stderr: "" };
  const code = await runConfigCheck({
    args,
    stdout: (text) => void (output.stdout += text),
    stderr: (text) => void (output.stderr += text),
  });
  return { code, stdout: output.stdout.replaceAll(folder, "DIR"), stderr: output.stderr };
}

describe("runConfigCheck()", () => {
  it("lists the files of a good directory, whatever their names, sorted", async () => {
    writeFileSync(join(folder, "b.yaml"), VALID.replace("DOMAIN", "one"));
    writeFileSync(join(folder, "a.txt"), VALID.replace("DOMAIN", "two"));
    expect(await check(["-config_dir", folder])).toEqual({
      code: 0,
      stdout:
        "checking rate limit configs...\nloading config directory: DIR\nopening config file: DIR/a.txt\nopening config file: DIR/b.yaml\nall rate limit configs ok\n",
      stderr: "",
    });
  });

  it("refuses bytes that are no UTF-8, as the service does", async () => {
    writeFileSync(join(folder, "a.yaml"), Buffer.from(VALID.replace("DOMAIN", "caf\u00e9"), "latin1"));
    const { code, stdout } = await check(["-config_dir", folder]);
    expect([code, stdout.split("\n").at(-2)]).toEqual([
      1,
      "error loading rate limit configs: DIR/a.yaml: error loading config file: yaml: invalid UTF-8",
    ]);
  });

  it("stops reading a file that has no end", async () => {
    symlinkSync("/dev/zero", join(folder, "a.yaml"));
    const { code, stdout } = await check(["-config_dir", folder]);
    expect([code, stdout.split("\n").at(-2)]).toEqual([
      1,
      "error reading file DIR/a.yaml: it is larger than the 16777216 bytes that are read",
    ]);
  });

  it.each([
    {
      when: "the domain is empty",
      text: "descriptors: []\n",
      line: "DIR/a.yaml: config file cannot have empty domain (line 1, column 1)",
    },
    {
      when: "a unit is unknown",
      text: VALID.replace("minute", "foo"),
      line: "DIR/a.yaml: invalid rate limit unit 'foo' (line 4, column 24)",
    },
    {
      when: "a key is repeated",
      text: `${VALID}  - key: user\n`,
      line: "DIR/a.yaml: duplicate descriptor composite key 'DOMAIN.user' (line 5, column 10)",
    },
    {
      when: "a resource is of another kind",
      text: manifest("a", "shop").replace("RateLimitConfig", "RateLimitService"),
      line: 'DIR/a.yaml: kind: must be "RateLimitConfig", is "RateLimitService" (line 2, column 7)',
    },
    {
      when: "a field is unknown",
      text: "domain: a\nratelimit: {}\n",
      line: "DIR/a.yaml: config error, unknown key 'ratelimit' (line 2, column 1)",
    },
  ])("names file, reason and place when $when", async ({ text, line }) => {
    writeFileSync(join(folder, "a.yaml"), text);
    const { code, stdout } = await check(["-config_dir", folder]);
    expect(code).toBe(1);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(`error loading rate limit configs: ${line}`);
  });

  it("refuses a domain in two files, unless domains are merged", async () => {
    writeFileSync(join(folder, "a.yaml"), VALID);
    writeFileSync(join(folder, "b.yaml"), VALID.replace("user", "plan"));
    const apart = await check(["-config_dir", folder]);
    expect(apart.stdout).toContain(
      "error loading rate limit configs: DIR/b.yaml: duplicate domain 'DOMAIN' in config file (line 1, column 9)\n",
    );
    expect(await check(["-config_dir", folder, "-merge_domain_configs"])).toMatchObject({ code: 0 });
  });

  it("checks manifests next to rule files, and prints which file holds which resources", async () => {
    writeFileSync(join(folder, "a.yaml"), VALID);
    writeFileSync(join(folder, "b.yaml"), `${manifest("one", "first")}---\n${manifest("two", "second")}`);
    expect(await check(["-config_dir", folder])).toEqual({
      code: 0,
      stdout:
        "checking rate limit configs...\nloading config directory: DIR\nopening config file: DIR/a.yaml\nopening config file: DIR/b.yaml\n" +
        "  it holds custom resources: default/one, default/two\nall rate limit configs ok\n",
      stderr: "",
    });
  });

  it("names file, field, reason and place when a manifest is wrong", async () => {
    writeFileSync(join(folder, "a.yaml"), manifest("one", "first").replace("minute", "fortnight"));
    const { code, stdout } = await check(["-config_dir", folder]);
    expect(code).toBe(1);
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(
      /^error loading rate limit configs: DIR\/a\.yaml: spec\.descriptors\[0\]\.rateLimit\.unit: .*fortnight.* \(line 8, column \d+\)$/,
    );
  });

  it("refuses two resources of one domain, naming the owner and its place", async () => {
    writeFileSync(join(folder, "a.yaml"), manifest("one", "same"));
    writeFileSync(join(folder, "b.yaml"), manifest("two", "same"));
    const { code, stdout } = await check(["-config_dir", folder]);
    expect(code).toBe(1);
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(
      "error loading rate limit configs: DIR/b.yaml: spec.domain: domain 'same' belongs to default/one (DIR/a.yaml:5:11): the oldest resource owns a domain, then the first by namespace and name (line 5, column 11)",
    );
  });

  it("says that YAML is broken and ends in order", async () => {
    writeFileSync(join(folder, "a.yaml"), "domain: 'a\n");
    const { code, stdout } = await check(["-config_dir", folder]);
    expect(code).toBe(1);
    expect(stdout).toContain("error loading rate limit configs: DIR/a.yaml: error loading config file: ");
  });

  it("lets no name of a file or text in it reach the terminal as it is", async () => {
    writeFileSync(join(folder, "a\u001b[2J.yaml"), VALID.replace("minute", '"\\e]0;x\\a"'));
    const { code, stdout } = await check(["-config_dir", folder]);
    expect(code).toBe(1);
    expect(stdout).toContain("opening config file: DIR/a\\u001b[2J.yaml\n");
    expect(stdout).toContain("invalid rate limit unit '\\u001b]0;x\\u0007'");
    expect(stdout).not.toContain("\u001b");
  });

  it("refuses a folder inside the directory", async () => {
    mkdirSync(join(folder, "sub"));
    expect((await check(["-config_dir", folder])).stdout).toContain(
      "error reading file DIR/sub: read DIR/sub: is a directory\n",
    );
  });

  it("reports a directory that does not exist", async () => {
    const { code, stdout } = await check([`--config_dir=${folder}/none`]);
    expect(code).toBe(1);
    expect(stdout).toContain("error opening directory DIR/none: open DIR/none: no such file or directory\n");
  });

  it("ends with 2 when the command line is wrong", async () => {
    expect(await check([])).toEqual({
      code: 2,
      stdout: "",
      stderr: "weir-config-check: name the directory with -config_dir; run 'weir-config-check --help' for usage\n",
    });
  });
});
