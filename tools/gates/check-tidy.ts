// Gate: rules on the text and the names of files of any kind. Rules on TypeScript are in
// eslint.config.js.
import { execFileSync } from "node:child_process";
import { homedir } from "node:os";
import { basename, dirname } from "node:path";
import type { Finding } from "./findings.ts";
import { reportFindings } from "./findings.ts";
import { GENERATED_FILE } from "../layout.ts";
import type { Files } from "./source-tree.ts";
import { isTypeScript, readFiles } from "./source-tree.ts";

/** Largest file that belongs in the tree, in bytes. */
const FILE_BYTES_MAX = 512 * 1024;

/** Endings of files that people read as text. */
const TEXT_FILE =
  /(\.(ts|js|mjs|json|md|sh|proto|ya?ml|css|html|svg|py|go|mod|toml)|(^|\/)(Makefile|run|\.npmrc|\.editorconfig|\.gitignore)|\/bin\/[\w-]+)$/;

/** Names that say nothing about what is inside. */
const EMPTY_NAME = /(^|-)(utils?|helpers?|misc|types?|managers?|index|common|stuff)$/;

/**
 * A file name: words in small letters joined by hyphens, with dotted qualifiers (`.test`,
 * `.integration.test`, `.suite`, `.config`).
 */
const KEBAB_NAME = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/;

/** Words for unfinished work, in parts, so that this file does not match itself. */
const LEFTOVER = new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "X" + "XX"].join("|")})\\b`);

/**
 * Everything untidy in `files`. `names` are hosts and folders of this machine, which must not
 * appear.
 */
export function findUntidiness(files: Files, names: readonly string[] = []): readonly Finding[] {
  return [...files].flatMap(([path, text]) => {
    if (GENERATED_FILE.test(path) || path === "package-lock.json") return [];
    return [...checkOpening(path, text, files), ...checkText(path, text, names), ...checkName(path)];
  });
}

/**
 * A file of code starts with a comment. A test may leave that to the file that it tests.
 */
function checkOpening(file: string, text: string, files: Files): readonly Finding[] {
  if (!/(\.(ts|js|sh)|\/bin\/[\w-]+)$/.test(file) || /^(#!.*\n)?(\/\/|\/\*|# )/.test(text)) return [];
  if (file.endsWith(".test.ts") && files.has(file.replace(/(\.(integration|system|soak))?\.test\.ts$/, ".ts")))
    return [];
  return [
    {
      file,
      line: 1,
      rule: "first-comment",
      message: "Say in a first comment what the file is for, and what it is not",
    },
  ];
}

function checkText(file: string, text: string, names: readonly string[]): readonly Finding[] {
  const findings: Finding[] = [];
  if (Buffer.byteLength(text) > FILE_BYTES_MAX)
    findings.push({ file, rule: "large-file", message: `The file is larger than ${FILE_BYTES_MAX} bytes` });
  for (const [index, content] of text.split("\n").entries()) {
    const line = index + 1;
    if (LEFTOVER.test(content))
      findings.push({ file, line, rule: "leftover", message: "Do it now, or say in a sentence what is so and why" });
    const name = names.find((candidate) => isNamed(content, candidate));
    if (name !== undefined)
      findings.push({
        file,
        line,
        rule: "this-machine",
        message: `${name} belongs to this machine and not into the repository`,
      });
  }
  return findings;
}

/**
 * Whether `text` holds `name` as a whole: "/srv/ada/" is in "see /srv/ada/x" and not in
 * "<folder>/srv/ada/x".
 */
function isNamed(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!/[\w.>})\]-]$/.test(text.slice(0, at))) return true;
  }
  return false;
}

function checkName(file: string): readonly Finding[] {
  const name = basename(file);
  if (!isTypeScript(file)) return [];
  const findings: Finding[] = [];
  if (!KEBAB_NAME.test(name))
    findings.push({ file, rule: "file-name", message: "Name a file in kebab-case, after its main export" });
  if (EMPTY_NAME.test(name.split(".", 1)[0] ?? ""))
    findings.push({ file, rule: "file-name", message: "Name the file after what it does: this name fits anything" });
  return findings;
}

/**
 * Hosts that this machine's package managers are set to, so that no file has to name them. A
 * manager that is not there has none.
 */
function registryHosts(): readonly string[] {
  const asked = [
    ["npm", "config", "get", "registry"],
    ["go", "env", "GOPROXY", "GOSUMDB"],
    ["pip", "config", "list"],
    ["sh", "-c", "cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true"],
  ] as const;
  const answers = asked.map(([program, ...args]) => {
    try {
      return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 10_000 });
    } catch {
      return ""; // Not installed, or too slow to ask: it gives nothing to look for.
    }
  });
  const hosts = answers.join("\n").matchAll(/https?:\/\/(?:[^\s@/]+@)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)/gi);
  return [...new Set([...hosts].map((match) => match[1] ?? ""))];
}

/**
 * Places of this machine that a file may have picked up: the home folder, and where the repository
 * lies.
 */
function machinePaths(root: string): readonly string[] {
  const shared = ["/", "/tmp", "/home", "/opt", "/srv", "/usr", "/var", "/var/tmp", "/mnt"];
  return [homedir(), root, dirname(root)].filter((path) => !shared.includes(path)).map((path) => `${path}/`);
}

if (import.meta.main) {
  const files = readFiles(process.cwd(), (path) => TEXT_FILE.test(path));
  reportFindings(findUntidiness(files, [...registryHosts(), ...machinePaths(process.cwd())]));
}
