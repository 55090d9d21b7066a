// Starts the browser of this machine's user. Other users read arguments of programs in /proc, so the URL with its token is
// in a file that only this user reads.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Opens the URL, whose characters need no escape in HTML; calls `failed` when there is no browser. Returns the end of the file. */
export function openBrowser(url: string, failed: (program: string) => void): () => void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  let folder: string;
  try {
    folder = mkdtempSync(join(tmpdir(), "weir-console-"));
    writeFileSync(join(folder, "open.html"), redirectPage(url), { mode: 0o600 });
  } catch {
    failed(program); // A full or read-only disk.
    return () => undefined;
  }
  const started = spawn(program, [join(folder, "open.html")], { stdio: "ignore", detached: true });
  started.on("error", () => failed(program));
  started.unref();
  return () => rmSync(folder, { recursive: true, force: true });
}

function redirectPage(url: string): string {
  return `<!doctype html><meta charset="utf-8"><title>Weir console</title><meta http-equiv="refresh" content="0; url=${url}">\n`;
}
