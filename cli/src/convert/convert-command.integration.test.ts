// Tests of `weir convert` on real files: what it writes where, and how it ends.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { runConvert } from "./convert-command.ts";

const RULES =
  "# Above.\ndomain: NAME\ndescriptors:\n  - key: user # each\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n";

/** Longest time of one run of the program, in milliseconds. */
const PROGRAM_TIMEOUT_MS = 40_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-convert-"));
  for (const name of ["one", "two"]) writeFileSync(join(folder, `${name}.yaml`), RULES.replace("NAME", name));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Runs the command; paths in its output are relative to the folder of the test. */
async function convert(args: readonly string[], input = ""): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = { stdout: "", stderr: "" };
  const context = {
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
  };
  const inFolder = args.map((arg) => arg.replace("@", `${folder}/`));
  const code = await runConvert(context, inFolder, async function* () {
    yield await Promise.resolve(Buffer.from(input));
  });
  return {
    code,
    stdout: output.stdout.replaceAll(`${folder}/`, ""),
    stderr: output.stderr.replaceAll(`${folder}/`, ""),
  };
}

/** Runs the program, in a shell that does something before; ends it when it takes too long. */
function runProgram(
  args: readonly string[],
  script = 'exec "$@"',
): { status: number | null; stdout: string; stderr: string } {
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const command = [process.execPath, "--conditions=source", main, "convert", ...args];
  return spawnSync("sh", ["-c", script, "sh", ...command], {
    encoding: "utf8",
    timeout: PROGRAM_TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
}

function manifest(name: string, namespace = ""): string {
  const metadata = `metadata:\n  name: ${name}\n${namespace === "" ? "" : `  namespace: ${namespace}\n`}`;
  const spec = `spec:\n  domain: ${name}\n  descriptors:\n    - key: user # each\n      rateLimit: { unit: minute, requestsPerUnit: 5 }\n`;
  return `# Above.\napiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\n${metadata}${spec}`;
}

describe("weir convert", () => {
  it("prints the manifests of rule files, separated", async () => {
    expect(await convert(["@one.yaml", "@two.yaml", "-n", "web"])).toEqual({
      code: 0,
      stdout: `${manifest("one", "web")}---\n${manifest("two", "web")}`,
      stderr: "",
    });
  });

  it("gives back the very file that it was given, comments included, when it goes there and back", async () => {
    const there = await convert(["@one.yaml"]);
    expect(await convert(["-"], there.stdout)).toEqual({ code: 0, stdout: RULES.replace("NAME", "one"), stderr: "" });
  });

  it("writes a file for each result, and never over another", async () => {
    expect(await convert(["@one.yaml", "@two.yaml", "--output-dir", "@out"])).toEqual({
      code: 0,
      stdout: "out/one.yaml\nout/two.yaml\n",
      stderr: "",
    });
    expect(readFileSync(join(folder, "out/two.yaml"), "utf8")).toBe(manifest("two"));
    expect(await convert(["@two.yaml", "--output-dir", "@out"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "weir convert: out/two.yaml already exists and is not changed\n",
    });
    expect(readdirSync(join(folder, "out"))).toEqual(["one.yaml", "two.yaml"]);
  });

  it("writes no file when one of them cannot be written", async () => {
    await convert(["@two.yaml", "--output-dir", "@out"]);
    expect(await convert(["@one.yaml", "@two.yaml", "--output-dir", "@out"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "weir convert: out/two.yaml already exists and is not changed\n",
    });
    expect(readdirSync(join(folder, "out"))).toEqual(["two.yaml"]);
    expect(readFileSync(join(folder, "out/two.yaml"), "utf8")).toBe(manifest("two"));
  });

  it("makes the folders around the one that it writes to", async () => {
    expect(await convert(["@one.yaml", "--output-dir", "@out/deep/../deeper/"])).toMatchObject({ code: 0, stderr: "" });
    expect(readdirSync(join(folder, "out/deeper"))).toEqual(["one.yaml"]);
  });

  it("reports that it cannot write when a file has the name of the folder", async () => {
    expect(await convert(["@one.yaml", "--output-dir", "@two.yaml"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "weir convert: cannot write: Cannot make the folder two.yaml: something else has its name\n",
    });
  });

  it("leaves no file behind when one of them does not fit on the disk", () => {
    // Files may have one block; the second result is larger, as on a disk that is full.
    writeFileSync(join(folder, "two.yaml"), `${RULES.replace("NAME", "two")}# ${"x".repeat(100_000)}\n`);
    const out = join(folder, "out");
    const paths = ["one", "two"].map((name) => join(folder, `${name}.yaml`));
    const { status, stdout, stderr } = runProgram(["--output-dir", out, ...paths], 'ulimit -f 1; exec "$@"');
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: "",
      stderr: "weir convert: cannot write: EFBIG: file too large, write\n",
    });
    expect(readdirSync(out)).toEqual([]);
  });

  it("fails when it cannot make the folder", () => {
    const { status, stderr } = runProgram(["--output-dir", "/proc/x/y", join(folder, "one.yaml")]);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: "weir convert: cannot write: Cannot make the folder /proc/x: no folder can be made in /proc\n",
    });
  });

  it("reports which documents of a rule file it leaves out, because a pod does not read them", async () => {
    const { code, stdout, stderr } = await convert(["-"], `${RULES.replace("NAME", "one")}---\ndomain: two\n`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: manifest("one") });
    expect(stderr).toBe("-:7:1: warning: left out: of a rule file only the first document is read\n");
  });

  it.each([["--name"], ["-n"]])("does not take %s for a rule file, which has none", async (flag) => {
    expect(await convert(["-", flag, "x"], manifest("one"))).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "weir convert: --name and --namespace are for manifests: a rule file has neither; run 'weir convert --help' for usage\n",
    });
  });

  it("prints nothing when one of the files has a problem", async () => {
    writeFileSync(join(folder, "bad.yaml"), "domain: ''\n");
    expect(await convert(["@one.yaml", "@bad.yaml"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "bad.yaml:1:9: domain: config file cannot have empty domain\n",
    });
  });

  it("warns of what it leaves out, and converts all the same", async () => {
    const { code, stdout, stderr } = await convert(
      ["-"],
      manifest("one").replace("  name: one\n", "  name: one\n  labels: { a: b }\n"),
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: RULES.replace("NAME", "one") });
    expect(stderr).toBe("-:6:11: metadata.labels: warning: left out: a rule file has nothing like it\n");
  });

  it.each([
    {
      args: [],
      stderr: "no file given: name files or directories, or - for standard input; run 'weir convert --help' for usage",
    },
    {
      args: ["--to", "yaml", "-"],
      stderr: `--to must be manifest or rules, is "yaml"; run 'weir convert --help' for usage`,
    },
    {
      args: ["--output-dir", "", "@one.yaml"],
      stderr: "--output-dir must name a directory, is empty; run 'weir convert --help' for usage",
    },
    {
      args: ["--name", "x", "@one.yaml", "@two.yaml"],
      stderr: "--name is for one rule file, but several are named; run 'weir convert --help' for usage",
    },
  ])("ends with 2 for $args", async ({ args, stderr }) => {
    expect(await convert(args)).toEqual({ code: 2, stdout: "", stderr: `weir convert: ${stderr}\n` });
  });

  it("requires a folder for several rule files", async () => {
    const { code, stderr } = await convert(["-"], `${manifest("one")}---\n${manifest("two")}`);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "there are 2 results, and a rule file holds one domain: name a directory with --output-dir",
    );
  });
});
