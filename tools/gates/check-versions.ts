// Gate: package.json of the root is the one place of the version; workspaces and charts agree with it, and the
// Dockerfile builds with the Node.js of the packages.
import { globSync, readFileSync } from "node:fs";
import { findCharts } from "../release/charts.ts";
import { type Finding, reportFindings } from "./findings.ts";

/** A version, and the file that says so. */
export interface StatedVersion {
  readonly file: string;
  readonly field: string;
  readonly version: string;
}

/** Every version that is not `version`. */
export function findVersionProblems(version: string, stated: readonly StatedVersion[]): readonly Finding[] {
  return stated
    .filter((one) => one.version !== version)
    .map(({ file, field, version: other }) => ({
      file,
      rule: "version",
      message: `${field} is ${other}, and package.json says ${version}`,
    }));
}

function versionOf(path: string): string {
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly version?: string }).version ?? "missing";
}

if (import.meta.main) {
  const charts = findCharts(process.cwd()).flatMap(({ name, version, appVersion }) => [
    { file: `charts/${name}/Chart.yaml`, field: "version", version },
    { file: `charts/${name}/Chart.yaml`, field: "appVersion", version: appVersion },
  ]);
  const workspaces = globSync("*/package.json").map((file) => ({ file, field: "version", version: versionOf(file) }));
  const [, node = "missing"] = /^ARG BUILD_BASE=\S+\/node:([\d.]+)-/m.exec(readFileSync("Dockerfile", "utf8")) ?? [];
  const installed = versionOf("node_modules/node/package.json");
  reportFindings([
    ...findVersionProblems(versionOf("package.json"), [...workspaces, ...charts]),
    ...findVersionProblems(installed, [{ file: "Dockerfile", field: "BUILD_BASE", version: node }]).map((finding) => ({
      ...finding,
      message: `BUILD_BASE has Node.js ${node}, and the package \`node\` is ${installed}`,
    })),
  ]);
}
