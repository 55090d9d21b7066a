// The manifests of the quick start, read as the control plane reads them: an example that is
// refused would be worse than none.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readManifests } from "@weir/crds/rate-limit-config/manifest/manifest";
import { describe, expect, it } from "vitest";
import { textsOf } from "@weir/harness/pages/code-blocks";

const FOLDER = join(import.meta.dirname, "..", "..", "..", "examples", "limits");

const FILES = readdirSync(FOLDER).toSorted();

describe("the examples", () => {
  it("are the six that the README explains", () => {
    expect(FILES).toEqual([
      "account.yaml",
      "api-plans.yaml",
      "export-trial.yaml",
      "login-protection.yaml",
      "per-address.yaml",
      "shop-routes.yaml",
    ]);
  });

  it.each(FILES)("hold one valid resource, named as its file, in %s", (file) => {
    const documents = readManifests(readFileSync(join(FOLDER, file), "utf8"));
    expect(documents.map(({ problems }) => problems)).toEqual([[]]);
    expect(`${documents[0]!.resource!.metadata.name}.yaml`).toBe(file);
  });

  it("claim different domains, so that none is refused because of another", () => {
    const domains = FILES.flatMap((file) => readManifests(readFileSync(join(FOLDER, file), "utf8"))).map(
      ({ resource }) => resource?.spec.domain,
    );
    expect(domains).toEqual(["account", "api", "export", "login", "edge", "shop"]);
  });
});

describe("README.md", () => {
  const root = join(FOLDER, "..", "..");
  const config = readFileSync(join(root, "examples/envoy/envoy.yaml"), "utf8");
  const snippets = textsOf("yaml", "README.md", readFileSync(join(root, "README.md"), "utf8"));

  it("shows two parts of examples/envoy/envoy.yaml", () => {
    expect(snippets).toHaveLength(2);
    for (const text of snippets) expect(withoutIndent(config)).toContain(withoutIndent(text));
  });
});

function withoutIndent(text: string): string {
  return text.replace(/^ +/gm, "");
}
