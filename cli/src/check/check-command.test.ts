// Tests of `weir check` on real files: what it finds, in which order, and how it ends.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { runCheck } from "./check-command.ts";

const MANIFEST =
  "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: NAME}\nspec: {domain: DOMAIN}\n";
const RULES = "domain: DOMAIN\ndescriptors:\n  - key: user\n    rate_limit: {unit: minute, requests_per_unit: 5}\n";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-check-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function manifest(name: string, domain: string): string {
  return MANIFEST.replace("NAME", name).replace("DOMAIN", domain);
}

function rules(domain: string): string {
  return RULES.replace("DOMAIN", domain);
}

function write(files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/** Runs the command; paths in its output are relative to the folder of the test. */
async function check(args: readonly string[], input = ""): Promise<{ code: number; stdout: string; stderr: string }> {
  const output = { stdout: "", stderr: "" };
  const context = {
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
    signal: new AbortController().signal,
    env: {},
  };
  const inFolder = args.map((arg) => (arg.startsWith("-") ? arg : join(folder, arg)));
  const code = await runCheck(context, inFolder, () => chunksOf(input));
  return { code, stdout: output.stdout.replaceAll(`${folder}/`, ""), stderr: output.stderr };
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  // In two parts, to show that a character may be cut.
  const bytes = await Promise.resolve(Buffer.from(text));
  const middle = Math.floor(bytes.length / 2);
  yield bytes.subarray(0, middle);
  yield bytes.subarray(middle);
}

describe("runCheck() on files", () => {
  it("accepts manifests and rules side by side", async () => {
    write({ "a.yaml": manifest("a", "shop"), "rules.yaml": rules("shop") });
    expect(await check(["a.yaml", "rules.yaml"])).toEqual({
      code: 0,
      stdout: "2 files with 1 resource and 1 rule file: no problems\n",
      stderr: "",
    });
  });

  it("accepts control characters in rule files, as a rate limit pod does", async () => {
    write({ "a.yaml": rules('"shop\\0"').replace("user", '"user\\0"') });
    expect(await check(["a.yaml"])).toMatchObject({ code: 0 });
  });

  it("reads folders below, sorted by name, and only what can be a manifest or rules", async () => {
    write({
      "b/c.yml": rules("one"),
      "a.json": JSON.stringify({ domain: "two", descriptors: [] }),
      "notes.txt": "hello",
      "OTHER.YAML": "[",
      "..2026_01_31/x.yaml": "[",
      ".#a.yaml": "[",
    });
    expect(await check([""])).toEqual({
      code: 0,
      stdout: "2 files with 0 resources and 2 rule files: no problems\n",
      stderr: "",
    });
  });

  it("reads hidden files and folders, because the control plane does", async () => {
    write({ ".hidden/x.yaml": manifest("a", "''"), ".b.yml": manifest("b", "shop") });
    expect(await check([""])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^\.hidden\/x\.yaml:4:16: .*\n2 files /) as string,
    });
  });

  it("takes a named file whatever its ending, and standard input", async () => {
    write({ rules: rules("one") });
    expect((await check(["rules", "-"], manifest("é", "two"))).stdout).toBe(
      '-:3:18: metadata.name: must consist of lower-case letters, digits, "-" and ".", and begin and end with a letter or digit, is "é"\n' +
        "2 files with 0 resources and 1 rule file: 1 problem\n",
    );
  });

  it("reads a file once that is named twice, or linked", async () => {
    write({ "a.yaml": manifest("a", "shop") });
    symlinkSync(join(folder, "a.yaml"), join(folder, "b.yaml"));
    expect((await check(["a.yaml", "", "b.yaml"])).stdout).toBe(
      "1 file with 1 resource and 0 rule files: no problems\n",
    );
  });

  it("reads a folder once when links go in a circle", async () => {
    write({ "a.yaml": manifest("a", "shop"), "b/c.yaml": manifest("c", "other") });
    symlinkSync(folder, join(folder, "loop"));
    symlinkSync(folder, join(folder, "b/loop"));
    expect((await check(["", "b"])).stdout).toBe("2 files with 2 resources and 0 rule files: no problems\n");
  });

  it("follows the links of a mounted ConfigMap", async () => {
    write({ "..2026_01_31/rules.yaml": rules("one") });
    symlinkSync("..2026_01_31", join(folder, "..data"));
    symlinkSync("..data/rules.yaml", join(folder, "rules.yaml"));
    expect((await check([""])).stdout).toBe("1 file with 0 resources and 1 rule file: no problems\n");
  });

  it("reads no pipe in a folder, because it may stay open without content", async () => {
    write({ "a.yaml": manifest("a", "shop") });
    execFileSync("mkfifo", [join(folder, "b.yaml")]);
    expect((await check([""])).stdout).toBe("1 file with 1 resource and 0 rule files: no problems\n");
  });

  it("minds a link to nowhere only when its name is that of a manifest", async () => {
    write({ "a.yaml": rules("one") });
    symlinkSync("nowhere", join(folder, "notes.txt"));
    expect((await check([""])).code).toBe(0);
    symlinkSync("nowhere", join(folder, "b.yaml"));
    expect((await check([""])).stdout.split("\n")[0]).toBe("b.yaml: cannot read: no such file or directory");
  });

  it("reports why it cannot read a file, and continues", async () => {
    write({
      "good.yaml": rules("one"),
      "empty/readme.md": "",
      "binary.yaml": Uint8Array.of(0xff, 0xfe),
      "big.yaml": "x".repeat(1024 * 1024 + 1),
    });
    expect(await check(["missing.yaml", "empty", "binary.yaml", "big.yaml", "good.yaml"])).toEqual({
      code: 1,
      stdout: [
        "missing.yaml: cannot read: no such file or directory",
        "empty: cannot read: the directory has no .yaml, .yml or .json file",
        "binary.yaml: cannot read: the file is not UTF-8 text",
        "big.yaml: cannot read: the file is larger than the 1048576 bytes that are read",
        "5 files with 0 resources and 1 rule file: 4 problems",
        "",
      ].join("\n"),
      stderr: "",
    });
  });
});

describe("runCheck() on what is wrong in a file", () => {
  it.each([
    { file: "", line: "1:1: has neither a RateLimitConfig manifest nor rules" },
    {
      file: "apiVersion: v1\nkind: List\nitems: []\n",
      line: "1:1: has neither a RateLimitConfig manifest nor rules",
    },
    {
      file: rules("a").replace("requests_per_unit: 5", "requests_per_unit: 1e3"),
      line: "4:51: error checking config: a value must be a text, a whole number that fits 64 bits, true or false",
    },
    { file: "# nothing\n---\n", line: "1:1: has neither a RateLimitConfig manifest nor rules" },
    { file: manifest("a", "''"), line: "4:16: spec.domain: must not be empty" },
    {
      file: manifest("a", '"a\\0"'),
      line: '4:16: spec.domain: must not contain the control character U+0000, is "a\\u0000"',
    },
    {
      file: manifest("a", '"a\\u0085"'),
      line: '4:16: spec.domain: must not contain the control character U+0085, is "a\\u0085"',
    },
    {
      file: "apiVersion: v1\nkind: [\n",
      line: "3:1: not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]",
    },
    {
      file: '{"apiVersion": "v1", "kind": [}',
      line: "1:31: not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]",
    },
    { file: "domain: ''\n", line: "1:9: domain: config file cannot have empty domain" },
    {
      file: `domain: a\n? ${"k".repeat(20_000)}\n: 1\n`,
      line: `2:3: config error, unknown key '${"k".repeat(173)}…${"k".repeat(99)}'`,
    },
    { file: "domain: a\nratelimit: 1\n", line: "2:1: config error, unknown key 'ratelimit'" },
    {
      file: rules("a").replace("minute", "foo"),
      line: "4:24: descriptors[0].rate_limit.unit: invalid rate limit unit 'foo'",
    },
    {
      file: `${rules("a")}  - key: user\n`,
      line: "5:10: descriptors[1].key: duplicate descriptor composite key 'a.user', first at a.yaml:3:5",
    },
    {
      file: "domain: a\ndescriptors:\n  - key: user\n    value: x\n    share_threshold: true\n",
      line: "5:22: descriptors[0].share_threshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'user_x'",
    },
  ])("prints $line", async ({ file, line }) => {
    write({ "a.yaml": file });
    const { code, stdout } = await check(["a.yaml"]);
    expect(code).toBe(1);
    expect(stdout.split("\n")[0]).toBe(`a.yaml:${line}`);
  });
});

describe("runCheck() on files that do not go together", () => {
  it("names both places of a domain that two resources claim, in whatever namespaces and order of files", async () => {
    write({ "a.yaml": manifest("a, namespace: team", "shop"), "b.yaml": manifest("b", "shop") });
    expect((await check(["a.yaml", "b.yaml"])).stdout.split("\n")[0]).toBe(
      "a.yaml:4:16: spec.domain: domain 'shop' belongs to default/b (b.yaml:4:16): the oldest resource owns a domain, then the first by namespace and name",
    );
  });

  it("gives a domain to the oldest resource, not to the first file", async () => {
    write({
      "a.yaml": manifest("a, creationTimestamp: 2026-01-31T12:00:00Z", "shop"),
      "b.yaml": manifest("b, creationTimestamp: 2026-01-30T12:00:00Z", "shop"),
    });
    expect((await check([""])).stdout).toMatch(
      /^a\.yaml:4:16: spec\.domain: domain 'shop' belongs to default\/b \(b\.yaml:4:16\)/,
    );
  });

  it("lets resources share a domain when they are for different fleets", async () => {
    write({
      "a.yaml": manifest("a", "shop, fleets: [edge, inner]"),
      "b.yaml": manifest("b", "shop, fleets: [outer]"),
      "c.yaml": manifest("c", "shop, fleets: [outer, inner]"),
      "d.yaml": manifest("d", "shop"),
    });
    expect((await check([""])).stdout.split(": the oldest")[0]).toBe(
      "c.yaml:4:16: spec.domain: domain 'shop' belongs to default/a (a.yaml:4:16)",
    );
    expect((await check(["a.yaml", "d.yaml"])).code).toBe(1);
    expect((await check(["a.yaml", "b.yaml"])).code).toBe(0);
  });

  it("finds the youngest resource with which a namespace names more than 64 fleets", async () => {
    const fleets = (from: number, count: number): string =>
      `fleets: [${Array.from({ length: count }, (_, index) => `f${from + index}`).join(", ")}]`;
    write({
      "a.yaml": manifest("a, creationTimestamp: 2026-01-31T12:00:00Z", `a, ${fleets(0, 1)}`),
      "b.yaml": manifest("b", `b, ${fleets(1, 40)}`),
      "c.yaml": manifest("c", `c, ${fleets(30, 35)}`),
      "d.yaml": manifest("d, namespace: other", `d, ${fleets(65, 64)}`),
    });
    expect((await check([""])).stdout.split("\n")[0]).toBe(
      "a.yaml:4:27: spec.fleets: brings the fleets that namespace default names from 64 to 65, one namespace may name at most 64 that no older resource of another namespace names",
    );
    expect(await check(["b.yaml", "c.yaml", "d.yaml"])).toMatchObject({ code: 0 });
  });

  it("lets a resource that is refused own nothing", async () => {
    write({
      "a.yaml": manifest("a", "shop, fleets: [edge]"),
      "b.yaml": manifest("b", "shop, fleets: [edge, inner]"),
      "c.yaml": manifest("c", "shop, fleets: [inner]"),
    });
    const { stdout } = await check([""]);
    expect(stdout).toMatch(/^b\.yaml:.*\n3 files with 3 resources and 0 rule files: 1 problem\n$/);
  });

  it("names both places of a resource that is there twice", async () => {
    write({ "a.yaml": `${manifest("a", "one")}---\n${manifest("a, namespace: default", "two")}` });
    expect((await check(["a.yaml"])).stdout.split("\n")[0]).toBe(
      'a.yaml:8:18: metadata.name: duplicate resource "default/a", first at a.yaml:3:18',
    );
  });

  it("names both places of two rules of a manifest with one composite key", async () => {
    const twins = "shop, descriptors: [{key: a, value: b}, {key: a_b}]";
    write({ "a.yaml": `---\n---\n${manifest("a", twins)}` });
    const { problems } = JSON.parse((await check(["-o=json", "a.yaml"])).stdout) as { readonly problems: unknown };
    expect(problems).toEqual([
      {
        path: "a.yaml",
        line: 6,
        column: 62,
        field: "spec.descriptors[1].key",
        message: "duplicate descriptor composite key 'shop.a_b', first at spec.descriptors[0] on line 6",
        also: { path: "a.yaml", line: 6, column: 36 },
      },
    ]);
  });

  it("names both places of a domain that two rule files have", async () => {
    write({ "a.yaml": rules("shop"), "b.yaml": rules("shop") });
    expect((await check([""])).stdout.split("\n")[0]).toBe(
      "b.yaml:1:9: domain: duplicate domain 'shop' in config file, first at a.yaml:1:9",
    );
  });

  it("merges the domains of rule files when asked, and finds what collides then", async () => {
    write({ "a.yaml": rules("shop"), "b.yaml": rules("shop").replace("user", "plan"), "c.yaml": rules("shop") });
    expect(await check(["--merge-domains", "a.yaml", "b.yaml"])).toMatchObject({ code: 0 });
    expect((await check(["--merge-domains", ""])).stdout.split("\n")[0]).toBe(
      "c.yaml:3:10: descriptors[0].key: duplicate descriptor composite key 'shop.user', first at a.yaml:3:5",
    );
  });

  it("gives both places to programs", async () => {
    write({ "a.yaml": rules("shop"), "b.yaml": rules("shop") });
    const { stdout } = await check(["-o=json", ""]);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      files: 2,
      resources: 0,
      ruleFiles: 2,
      skipped: 0,
      warnings: [],
      problems: [
        {
          path: "b.yaml",
          line: 1,
          column: 9,
          field: "domain",
          message: "duplicate domain 'shop' in config file, first at a.yaml:1:9",
          also: { path: "a.yaml", line: 1, column: 9 },
        },
      ],
    });
  });
});

describe("runCheck() on rule files that may not mean what they say", () => {
  it("warns of documents after the first one and of repeated fields, which a pod ignores", async () => {
    write({ "a.yaml": `${rules("one")}domain: two\n---\n# nothing\n---\n${rules("three")}` });
    expect(await check(["a.yaml"])).toEqual({
      code: 0,
      stdout: [
        'a.yaml:5:1: warning: duplicate key "domain", first on line 1: the last one counts',
        "a.yaml:9:1: warning: left out: of a rule file only the first document is read",
        "1 file with 0 resources and 1 rule file: no problems, 2 warnings",
        "",
      ].join("\n"),
      stderr: "",
    });
    expect(JSON.parse((await check(["a.yaml", "-ojson"])).stdout)).toMatchObject({
      ok: true,
      problems: [],
      warnings: [
        { path: "a.yaml", line: 5 },
        { line: 9, column: 1, field: "" },
      ],
    });
  });
});

describe("runCheck() on rules that may not mean what they say", () => {
  const UNREACHED = `[{key: a, value: "*"}, {key: a, value: b*}]`;

  it("warns of a rule that no request reaches, in a manifest and in a rule file", async () => {
    const head = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: a}";
    write({
      "a.yaml": `${head}\nspec:\n  domain: shop\n  descriptors: ${UNREACHED}\n`,
      "b.yaml": `domain: files\ndescriptors: ${UNREACHED}\n`,
    });
    const { code, stdout } = await check(["a.yaml", "b.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "a.yaml:6:39: spec.descriptors[1]: warning: no request reaches this rule: spec.descriptors[0] takes all that it matches\n",
    );
    expect(stdout).toContain(
      "b.yaml:2:37: descriptors[1]: warning: no request reaches this rule: descriptors[0] takes all that it matches\n",
    );
  });

  it("warns of a resource in shadow mode", async () => {
    const head = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: a}";
    write({ "a.yaml": `${head}\nspec:\n  domain: shop\n  shadowMode: true\n` });
    const { code, stdout } = await check(["a.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "a.yaml:6:15: spec.shadowMode: warning: every rule of this resource is in shadow mode: nothing is limited\n",
    );
  });

  it("takes null for an absent field, and warns of it where server-side apply refuses it", async () => {
    const head = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitService\nmetadata: {name: a, labels: }";
    write({
      "a.yaml": `${head}\nspec:\n  backend: {type: memory}\n  replicas:\n`,
      "b.yaml": `${head.replace("Service", "Config")}\nspec:\n  domain: shop\n  fleets: null\n`,
    });
    const { code, stdout } = await check(["a.yaml", "b.yaml"]);
    const text =
      "warning: is null, which counts as absent, and which kubectl apply --server-side refuses: leave the field out\n";
    expect(stdout.split(/(?<=\n)/).slice(0, -1)).toEqual([
      `a.yaml:6:12: spec.replicas: ${text}`,
      `b.yaml:6:11: spec.fleets: ${text}`,
    ]);
    expect(code).toBe(0);
  });

  it("warns of a limit of 0", async () => {
    const rule = "{key: a, rate_limit: {unit: second, requests_per_unit: 0}}";
    write({ "b.yaml": `domain: files\ndescriptors: [${rule}]\n` });
    const { code, stdout } = await check(["b.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "descriptors[0].rate_limit.requests_per_unit: warning: the limit is 0: every request that meets this rule is rejected\n",
    );
  });
});

describe("runCheck() on texts that look like others", () => {
  it("warns of them with field and place, in a manifest and in a rule file", async () => {
    const head = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: a}";
    write({
      "a.yaml": `${head}\nspec:\n  domain: p\u0430ypal\n  descriptors: [{key: user, value: "ad\\u202Emin"}]\n`,
      "b.yaml": `domain: files\ndescriptors: [{key: us\u200Ber}]\n`,
    });
    const { code, stdout } = await check(["a.yaml", "b.yaml"]);
    expect([code, stdout.split("\n")]).toEqual([
      0,
      [
        "a.yaml:5:11: spec.domain: warning: has Latin and Cyrillic letters in one word, which look alike: U+0430 at character 2",
        "a.yaml:6:36: spec.descriptors[0].value: warning: has bidirectional controls, which change the order of what is shown: U+202E at character 3",
        "b.yaml:2:21: descriptors[0].key: warning: has invisible characters: U+200B at character 3",
        "2 files with 1 resource and 1 rule file: no problems, 3 warnings",
        "",
      ],
    ]);
    expect(JSON.parse((await check(["b.yaml", "-ojson"])).stdout)).toMatchObject({
      ok: true,
      warnings: [{ field: "descriptors[0].key", message: "has invisible characters: U+200B at character 3" }],
    });
  });
});

describe("runCheck() on manifests of other kinds", () => {
  const OTHERS = `apiVersion: v1\nkind: Namespace\nmetadata: {name: a, a: b}\n---\napiVersion: v1\nkind: List\nitems: [{apiVersion: apps/v1, kind: Deployment}]\n---\napiVersion: v1\nkind: ConfigMapList\nitems: [{}]\n`;

  it("refuses one that is alone, because its kind may be misspelt", async () => {
    write({ "a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n" });
    const { code, stdout, stderr } = await check(["a.yaml"]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      'a.yaml:2:7: kind: must be one of "RateLimitConfig", "RateLimitService", is "Namespace"\n',
    );
    expect(stderr).toBe("weir check: --skip-other-kinds skips manifests of other kinds\n");
    expect(await check(["a.yaml", "--skip-other-kinds"])).toMatchObject({
      code: 0,
      stdout: "1 file with 0 resources and 0 rule files, 1 manifest of other kinds skipped: no problems\n",
    });
  });

  it.each([[], ["--skip-other-kinds"]])(
    "counts them next to other documents, and looks at ours (%s)",
    async (...flags) => {
      write({ "a.yaml": `${OTHERS}---\n${manifest("a", "shop")}` });
      expect(await check(["a.yaml", ...flags])).toEqual({
        code: 0,
        stdout: "1 file with 1 resource and 0 rule files, 3 manifests of other kinds skipped: no problems\n",
        stderr: "",
      });
      write({ "a.yaml": `${OTHERS}---\n${manifest("a", "''")}` });
      expect((await check(["a.yaml", ...flags])).stdout.split("\n")[0]).toBe(
        "a.yaml:16:16: spec.domain: must not be empty",
      );
    },
  );

  it("skips kinds of other products that have the names of ours", async () => {
    const gloo = "apiVersion: ratelimit.solo.io/v1alpha1\nkind: RateLimitConfig\nspec: {raw: {}}\n";
    const emissary = "apiVersion: getambassador.io/v3alpha1\nkind: RateLimitService\nspec: {service: a}\n";
    write({ "a.yaml": [gloo, emissary, manifest("a", "shop")].join("---\n") });
    expect((await check(["a.yaml"])).stdout).toBe(
      "1 file with 1 resource and 0 rule files, 2 manifests of other kinds skipped: no problems\n",
    );
    write({ "a.yaml": gloo });
    expect(await check(["a.yaml"])).toMatchObject({
      code: 1,
      stderr: "weir check: --skip-other-kinds skips manifests of other kinds\n",
    });
  });

  it("skips them next to other items of a list", async () => {
    const items = `- {apiVersion: v1, kind: Service}\n- {apiVersion: v1, kind: Secret}\n`;
    write({ "a.yaml": `apiVersion: v1\nkind: List\nitems:\n${items}` });
    expect((await check(["a.yaml"])).stdout).toContain("2 manifests of other kinds skipped: no problems");
  });

  it("refuses a misspelt kind of ours next to other documents", async () => {
    write({ "a.yaml": `${OTHERS}---\n${manifest("a", "shop").replace("RateLimitConfig", "RateLimitConfg")}` });
    expect((await check(["a.yaml"])).stdout.split("\n")[0]).toBe(
      'a.yaml:14:7: kind: must be one of "RateLimitConfig", "RateLimitService", is "RateLimitConfg"',
    );
  });

  it.each([
    { what: "a kind that is misspelt", text: manifest("a", "b").replace("RateLimitConfig", "RatelimitConfig") },
    { what: "an unknown version", text: manifest("a", "b").replace("v1alpha1", "v1") },
    {
      what: "another group with our kind",
      text: manifest("a", "b").replace("ratelimit.weir.dev/v1alpha1", "weir.dev/v1"),
    },
    { what: "no version", text: "kind: ConfigMap\n" },
    { what: "what is no YAML", text: "apiVersion: v1\nkind: [\n" },
  ])("refuses $what with --skip-other-kinds, too, and does not name that flag as a remedy", async ({ text }) => {
    write({ "a.yaml": text });
    expect((await check(["a.yaml", "--skip-other-kinds"])).code).toBe(1);
    const { code, stderr } = await check(["a.yaml"]);
    expect([code, stderr]).toEqual([1, ""]);
  });
});

describe("runCheck() on RateLimitServices", () => {
  const HEAD = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitService\n";

  function service(name: string, spec: string): string {
    return `${HEAD}metadata: {name: ${name}}\nspec:\n  backend: {type: memory}\n${spec}`;
  }

  it("counts them as resources, also as items of lists", async () => {
    const item = "{metadata: {name: b}, spec: {backend: {type: memory}}}";
    write({
      "a.yaml": `${service("a", "")}---\n${manifest("a", "shop")}`,
      "b.yaml": `${HEAD.replace("Service", "ServiceList")}items: [${item}]\n`,
    });
    expect(await check([""])).toEqual({
      code: 0,
      stdout: "2 files with 3 resources and 0 rule files: no problems\n",
      stderr: "",
    });
  });

  it.each([
    { spec: "  replica: 2", line: '6:3: spec.replica: unknown field "replica", did you mean "replicas"?' },
    { spec: '  replicas: "2"', line: '6:13: spec.replicas: must be a whole number, is "2": leave out the quotes' },
    { spec: "  replicas: 1\n  replicas: 2", line: '7:3: duplicate key "replicas", first on line 6' },
    {
      spec: "  failureMode: open",
      line: '6:16: spec.failureMode: must be one of "error", "allow", "deny", is "open"',
    },
    {
      spec: "  replicas: 2",
      line: "5:12: spec.backend: more than one pod with the backend memory, where each pod counts by itself, needs backend.memory.allowUnsharedCounters: true; or use one pod, redis or memcached",
    },
    {
      spec: "  autoscaling: {minReplicas: 2, maxReplicas: 1}",
      line: "6:30: spec.autoscaling.minReplicas: minReplicas must be at most maxReplicas",
    },
    {
      spec: "  env:\n  - {name: LOG_LEVL, value: debug}",
      line: "7:12: spec.env[0].name: unknown setting LOG_LEVL; the nearest known one is LOG_LEVEL",
    },
    {
      spec: "  env:\n  - {name: REDIS_AUTH, value: secret}",
      line: "7:12: spec.env[0].name: REDIS_AUTH is set by the operator: use spec.backend.redis.auth",
    },
    {
      spec: "  imagePullSecrets:\n  - {name: a}\n  - {name: a}",
      line: '8:12: spec.imagePullSecrets[1].name: duplicate name "a", first at spec.imagePullSecrets[0] on line 7',
    },
  ])("prints $line", async ({ spec, line }) => {
    write({ "a.yaml": service("a", spec) });
    const { code, stdout } = await check(["a.yaml"]);
    expect([code, stdout.split("\n")[0]]).toEqual([1, `a.yaml:${line}`]);
  });

  it.each([
    { name: "ca", message: "must not be ca, because ca.crt is the file of the authorities" },
    { name: "1edge", message: 'must have at most 52 lower-case letters, digits and "-", begin with a letter' },
  ])("refuses the name $name at its place", async ({ name, message }) => {
    write({ "a.yaml": service(name, "") });
    expect((await check(["a.yaml"])).stdout).toContain(`a.yaml:3:18: metadata.name: ${message}`);
  });

  it("refuses a fleet of another namespace, and warns of one while the namespace is not known", async () => {
    write({
      "a.yaml": service("a, namespace: shop", "  fleet: bank.edge"),
      "b.yaml": service("b", "  fleet: bank.edge"),
      "c.yaml": service("c, namespace: bank", "  fleet: bank.edge"),
      "d.yaml": service("d", "  fleet: edge"),
    });
    expect((await check([""])).stdout.split("\n")).toEqual([
      'a.yaml:6:10: spec.fleet: the fleet "bank.edge" belongs to the namespace bank: a RateLimitService in the namespace shop may name shop.* and names without a dot',
      'b.yaml:6:10: spec.fleet: warning: the fleet "bank.edge" belongs to the namespace bank, and metadata.namespace is absent: apply it in bank',
      "4 files with 4 resources and 0 rule files: 1 problem, 1 warning",
      "",
    ]);
  });

  it("names both places of a fleet that services of two namespaces name, and of a service that is there twice", async () => {
    write({
      "a.yaml": service("a, namespace: shop", "  fleet: edge"),
      "b.yaml": service("b, namespace: bank, creationTimestamp: 2026-01-31T12:00:00Z", "  fleet: edge"),
      "c.yaml": service("a, namespace: shop", "  fleet: edge"),
    });
    const { problems } = JSON.parse((await check(["", "-ojson"])).stdout) as { readonly problems: readonly unknown[] };
    expect(problems).toEqual([
      {
        ...{ path: "b.yaml", line: 6, column: 10, field: "spec.fleet" },
        message:
          'the fleet "edge" belongs to shop/a (a.yaml:6:10): the oldest RateLimitService owns a fleet, then the first by namespace and name',
        also: { path: "a.yaml", line: 6, column: 10 },
      },
      {
        ...{ path: "c.yaml", line: 3, column: 18, field: "metadata.name" },
        message: 'duplicate resource "shop/a", first at a.yaml:3:18',
        also: { path: "a.yaml", line: 3, column: 18 },
      },
    ]);
  });

  it("warns of a setting without effect, and of an unknown one of another image", async () => {
    write({
      "a.yaml": service("a", '  image: mine:1\n  env: [{name: FUTURE_SETTING, value: a}, {name: GOGC, value: "50"}]'),
    });
    const { code, stdout } = await check(["a.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toContain("a.yaml:7:16: spec.env[0].name: warning: unknown setting FUTURE_SETTING");
    expect(stdout).toContain("spec.env[1].name: warning: GOGC has no effect");
  });

  it("takes every example of the documentation", async () => {
    const page = readFileSync(new URL("../../../docs/rate-limit-service.md", import.meta.url), "utf8");
    const examples = [...page.matchAll(/```yaml\n([^`]*)```/g)].map(([, text = ""]) => text);
    write({ "a.yaml": examples.join("---\n") });
    expect(await check(["a.yaml"])).toMatchObject({ code: 0 });
  });
});

describe("runCheck() on the command line", () => {
  it("ends with 2 when there is nothing to check", async () => {
    expect(await check([])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "weir check: no file given: name files or directories, or - for standard input; run 'weir check --help' for usage\n",
    });
  });
});

describe("runCheck() --against", () => {
  /** Rules of one domain, each with the fields of its limit; a text in brackets is a list of limits. */
  function limits(rules: Readonly<Record<string, string>>): string {
    const lines = Object.entries(rules).map(([key, limit]) =>
      limit.startsWith("[") ? `  - {key: ${key}, rate_limits: ${limit}}` : `  - {key: ${key}, rate_limit: {${limit}}}`,
    );
    return `domain: shop\ndescriptors:\n${lines.join("\n")}\n`;
  }

  it.each([
    {
      what: "a number of requests",
      before: "unit: day, requests_per_unit: 1",
      after: "unit: day, requests_per_unit: 2",
    },
    { what: "another spelling", before: "unit: DAY", after: "unit: day, unit_multiplier: 1, algorithm: fixed_window" },
    { what: "the same window in other units", before: "unit: hour, unit_multiplier: 24", after: "unit: day" },
    {
      what: "a burst",
      before: "unit: day, requests_per_unit: 1, algorithm: token_bucket, burst: 1",
      after: "unit: day, requests_per_unit: 1, algorithm: token_bucket, burst: 9, count_rejected_hits: true",
    },
    { what: "a new limit", before: "unlimited: true", after: "unit: day" },
    {
      what: "names in a list",
      before: "[{name: a, unit: day}, {name: b, unit: hour}]",
      after: "[{name: c, unit: day}, {name: d, unit: hour}]",
    },
  ])("is silent when only $what changes", async ({ before, after }) => {
    write({ "live/a.yaml": limits({ user: before }), "new.yaml": limits({ user: after, other: after }) });
    expect(await check(["--against", "live", "new.yaml"])).toEqual({
      code: 0,
      stdout: expect.not.stringContaining("anew") as string,
      stderr: "",
    });
  });

  it.each([
    { before: "unit: day", after: "unit: hour", text: "0 per day: every request is rejected becomes 0 per hour" },
    { before: "unit: day", after: "unit: day, unit_multiplier: 2", text: "becomes 0 per 2 days" },
    { before: "unit: day", after: "unit: day, algorithm: sliding_window", text: "becomes 0 per day" },
    { before: "unit: day", after: "unit: day, time_zone: UTC", text: "in the time zone UTC" },
    { before: "unit: day", after: "unit: day, count_rejected_hits: false", text: "rejected hits do not count" },
    {
      before: "unit: month, time_zone: UTC",
      after: "unit: month, time_zone: UTC, month_day: 2",
      text: "in the time zone UTC, from day 2 on",
    },
    {
      before: "[{name: a, unit: day}, {name: b, unit: hour}]",
      after: "[{name: a, unit: day}, {name: b, unit: minute}]",
      text: "named a; 0 per minute",
    },
    { before: "unit: day", after: "[{name: a, unit: day}, {name: b, unit: hour}]", text: "named a; 0 per hour" },
  ])("warns when $before becomes $after", async ({ before, after, text }) => {
    write({ "live/a.yaml": limits({ user: before }), "new.yaml": limits({ user: after }) });
    const { code, stdout } = await check(["--against", "live", "new.yaml"]);
    const [line] = stdout.split("\n").filter((each) => each.includes("anew"));
    expect([code, line]).toEqual([
      0,
      expect.stringMatching(
        /^new\.yaml:3:\d+: descriptors\[0\]\.rate_limits?: warning: the counts of the live rule \(live\/a\.yaml:3:\d+\) start anew: /,
      ),
    ]);
    expect(line).toContain(text);
  });

  it("says nothing of months from day 1 on, named or not", async () => {
    const months = "unit: month, time_zone: UTC";
    const list = (day: string): string => `[{name: a, ${months}${day}}, {name: b, unit: hour}]`;
    write({
      "live/a.yaml": limits({ one: months, list: list("") }),
      "new.yaml": limits({ one: `${months}, month_day: 1`, list: list(", month_day: 1") }),
    });
    expect((await check(["--against", "live", "new.yaml"])).stdout).not.toContain("anew");
  });

  it("compares manifests with rule files, rules below others too, and other domains with nothing", async () => {
    const live =
      "domain: shop\ndescriptors:\n  - key: a\n    descriptors: [{key: b, value: c, rate_limit: {unit: day, requests_per_unit: 5}}]\n";
    const spec =
      "descriptors: [{key: a, descriptors: [{key: b, value: c, rateLimit: {unit: hour, requestsPerUnit: 5}}]}]";
    const of = (name: string, domain: string): string =>
      manifest(name, domain).replace(`domain: ${domain}`, `domain: ${domain}, ${spec}`);
    write({ "live.yaml": live, "shop.yaml": of("a", "shop"), "login.yaml": of("b", "login") });
    expect((await check(["--against", "live.yaml", "shop.yaml", "login.yaml"])).stdout).toBe(
      "shop.yaml:4:89: spec.descriptors[0].descriptors[0].rateLimit: warning: the counts of the live rule (live.yaml:4:50) start anew: 5 per day becomes 5 per hour\n" +
        "2 files with 2 resources and 0 rule files: no problems, 1 warning\n",
    );
  });

  it("refuses live rules that are no rules", async () => {
    write({ "live.yaml": "domain: ''\n", "new.yaml": rules("shop") });
    expect(await check(["--against", "live.yaml", "new.yaml"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `weir check: cannot compare with the live rules: ${folder}/live.yaml:1:9: domain: config file cannot have empty domain\n`,
    });
  });
});
