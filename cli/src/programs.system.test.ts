// Tests of the two programs as processes: help, version, exit codes, and the examples of this
// repository.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

function run(
  program: "main" | "config-check",
  args: readonly string[],
  input = "",
): { code: number | null; stdout: string; stderr: string } {
  const script = fileURLToPath(new URL(`${program}.ts`, import.meta.url));
  const ended = spawnSync(process.execPath, ["--conditions=source", script, ...args], {
    cwd: ROOT,
    input,
    encoding: "utf8",
  });
  return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
}

describe("weir", () => {
  it("shows its commands with --help", () => {
    const { code, stdout } = run("main", ["--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "check [-o text|json] [--merge-domains] [--skip-other-kinds] [--against PATH|cluster] FILE…",
    );
    expect(run("main", ["help"])).toMatchObject({ code: 0, stdout });
  });

  it.each(["status", "check", "explain", "simulate", "convert", "rollout", "top", "console"])(
    "prints the help of %s, asked in either way",
    (command) => {
      const { code, stdout } = run("main", ["help", command]);
      expect({ code, usage: stdout.includes(`Usage: weir ${command} `) }).toEqual({ code: 0, usage: true });
      expect(run("main", [command, "x", "--help"])).toMatchObject({ code: 0, stdout, stderr: "" });
    },
  );

  it("has no help for what it does not know", () => {
    expect(run("main", ["help", "chek"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("explains an example of this repository", () => {
    const args = [
      "explain",
      "--dir",
      "examples/limits",
      "--domain",
      "shop",
      "-d",
      "route=checkout,method=POST,user=1815",
    ];
    const { code, stdout } = run("main", [...args, "--at", "2026-01-31T12:34:56Z"]);
    expect(code).toBe(0);
    expect(stdout).toContain("  limit       10 per hour\n");
    expect(stdout).toContain("  counter     shop_route_checkout_method_POST_user_1815_1769860800\n");
  });

  it.each([["main"], ["config-check"]] as const)("%s prints its version", (program) => {
    const { code, stdout } = run(program, ["--version"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^weir(-config-check)? \d+\.\d+\.\d+\n$/);
  });

  it.each([
    {
      args: ["chek"],
      stderr:
        'weir: unknown command "chek", known are: status, rollout, top, console, shadow, explain, simulate, check, convert; see weir --help\n',
    },
    {
      args: [],
      stderr:
        "weir: no command given, known are: status, rollout, top, console, shadow, explain, simulate, check, convert; see weir --help\n",
    },
    {
      args: ["check", "-x"],
      stderr: `weir check: unknown flag "-x", known are: -o, --output, --merge-domains, --skip-other-kinds, --against, -n, --namespace, -A, --all-namespaces, --kubeconfig, --context, --help; run 'weir check --help' for usage\n`,
    },
  ])("ends with 2 for $args", ({ args, stderr }) => {
    expect(run("main", args)).toEqual({ code: 2, stdout: "", stderr });
  });

  it("finds the examples of this repository valid", () => {
    expect(run("main", ["check", "examples/limits"])).toMatchObject({ code: 0, stderr: "" });
  });

  it("checks what comes through the path that a shell makes of a command", () => {
    const command = '"$0" --conditions=source cli/src/main.ts check <(cat examples/limits/shop-routes.yaml)';
    const { status, stdout } = spawnSync("bash", ["-c", command, process.execPath], { cwd: ROOT, encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "1 file with 1 resource and 0 rule files: no problems\n" });
  });

  it("checks standard input and ends with 1 when it is wrong", () => {
    expect(run("main", ["check", "-"], "domain: ''\n")).toEqual({
      code: 1,
      stdout:
        "-:1:9: domain: config file cannot have empty domain\n1 file with 0 resources and 1 rule file: 1 problem\n",
      stderr: "",
    });
  });
});

describe("weir-config-check", () => {
  it("shows its flags with -help", () => {
    const { code, stdout } = run("config-check", ["-help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("-config_dir DIRECTORY");
  });

  it("finds the manifests of this repository's examples valid, and prints which they are", () => {
    const { code, stdout, stderr } = run("config-check", ["-config_dir", "examples/limits"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^ {2}it holds custom resources: default\//m);
    expect(stdout).toMatch(/all rate limit configs ok\n$/);
  });

  it("prints the file, the line and the reason of a mistake, and accepts one domain in two files with the flag for it", () => {
    const folder = mkdtempSync(join(tmpdir(), "weir-config-check-"));
    const rule = (key: string): string =>
      `domain: d\ndescriptors:\n  - key: ${key}\n    rate_limit: {unit: hour, requests_per_unit: 1}\n`;
    writeFileSync(join(folder, "a.yaml"), rule("one"));
    writeFileSync(join(folder, "b.yaml"), rule("two"));
    const opened = `checking rate limit configs...\nloading config directory: ${folder}\nopening config file: ${folder}/a.yaml\nopening config file: ${folder}/b.yaml\n`;
    const apart = run("config-check", ["-config_dir", folder]);
    const merged = run("config-check", [`--config_dir=${folder}`, "--merge_domain_configs"]);
    writeFileSync(join(folder, "b.yaml"), rule("two").replace("hour", "fortnight"));
    const wrong = run("config-check", ["-config_dir", folder, "-merge_domain_configs=true"]);
    rmSync(folder, { recursive: true });
    const problem = (text: string): string => `${opened}error loading rate limit configs: ${folder}/b.yaml: ${text}\n`;
    expect([apart.code, apart.stdout]).toEqual([1, problem("duplicate domain 'd' in config file (line 1, column 9)")]);
    expect([merged.code, merged.stdout]).toEqual([0, `${opened}all rate limit configs ok\n`]);
    expect([wrong.code, wrong.stdout]).toEqual([1, problem("invalid rate limit unit 'fortnight' (line 4, column 24)")]);
  });

  it("ends with 1 when the directory cannot be opened", () => {
    expect(run("config-check", ["-config_dir", "none"])).toEqual({
      code: 1,
      stdout:
        "checking rate limit configs...\nloading config directory: none\nerror opening directory none: open none: no such file or directory\n",
      stderr: "",
    });
  });
});
