import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { generatedKeys, generatedLabelSecret } from "./generated-secrets.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});

afterEach(() => {
  folder.remove();
});

describe("generatedKeys()", () => {
  it("makes keys once, for the owner's eyes only, and finds them again", () => {
    const first = generatedKeys(folder.path);
    const second = generatedKeys(folder.path);
    expect(second.access.signing.id).toBe(first.access.signing.id);
    expect(second.refresh.signing.key.equals(first.refresh.signing.key)).toBe(true);
    expect(statSync(join(folder.path, "token-keys.json")).mode & 0o777).toBe(0o600);
  });

  it("makes a key pair for access tokens, and a secret for refresh tokens", () => {
    const { access, refresh } = generatedKeys(folder.path);
    expect([access.signing.algorithm, refresh.signing.algorithm]).toEqual(["ES256", "HS256"]);
    expect(access.verifying.get(access.signing.id)?.key.type).toBe("public");
  });

  it.each(["", "{", "[]"])("refuses a damaged file %j by name and does not change it", (text) => {
    const path = join(folder.path, "token-keys.json");
    writeFileSync(path, text);
    expect(() => generatedKeys(folder.path)).toThrow(`Cannot use the secrets in ${path}: the file is damaged`);
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("names a file that it cannot read", () => {
    mkdirSync(join(folder.path, "token-keys.json"));
    expect(() => generatedKeys(folder.path)).toThrow("Cannot read the secrets in");
  });
});

describe("generatedLabelSecret()", () => {
  it("makes a secret of 256 bits once, for the owner's eyes only, and finds it again", () => {
    const secret = generatedLabelSecret(folder.path);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(generatedLabelSecret(folder.path)).toBe(secret);
    expect(statSync(join(folder.path, "account-label-secret")).mode & 0o777).toBe(0o600);
  });

  it("refuses a short one", () => {
    const path = join(folder.path, "account-label-secret");
    writeFileSync(path, "short\n");
    expect(() => generatedLabelSecret(folder.path)).toThrow(
      `Cannot use the secrets in ${path}: the file is damaged; remove it to make a new one`,
    );
  });
});
