// Lets another checkout of this repository use the packages that are installed in this one.
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * Folder of our own workspaces among the packages: those of the earlier commit take their place.
 */
const OWN_SCOPE = "@weir";

/**
 * Gives the checkout at `folder` the packages installed at `root`, by links. Only our own
 * workspaces, which are links among the packages, lead into the checkout itself: it must not run a
 * mixture of two versions.
 */
export function linkPackages(root: string, folder: string): void {
  linkEach(join(root, "node_modules"), join(folder, "node_modules"), (name) => name !== OWN_SCOPE && name !== ".bin");
  linkEach(
    join(root, "node_modules", ".bin"),
    join(folder, "node_modules", ".bin"),
    (name) => !name.startsWith("weir"),
  );
  const scope = join(folder, "node_modules", OWN_SCOPE);
  mkdirSync(scope, { recursive: true });
  for (const workspace of readdirSync(join(root, "node_modules", OWN_SCOPE))) {
    if (!existsSync(join(folder, workspace, "package.json"))) continue; // A workspace that came later.
    symlinkSync(join(folder, workspace), join(scope, workspace));
    // Packages of which a workspace needs another version than the rest.
    const nested = join(root, workspace, "node_modules");
    if (existsSync(nested)) linkEach(nested, join(folder, workspace, "node_modules"), () => true);
  }
}

function linkEach(from: string, to: string, isWanted: (name: string) => boolean): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter(isWanted)) symlinkSync(join(from, name), join(to, name));
}
