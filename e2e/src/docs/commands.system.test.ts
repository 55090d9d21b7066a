// Pastes the commands of the pages into a shell, page by page and in their order, and compares what they print with
// what the page shows. development.md explains the comments that choose the blocks.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "@weir/harness/processes/programs";
import type { CodeBlock } from "@weir/harness/pages/code-blocks";
import { type Fixture, startFixture } from "./fixtures.ts";
import { FIXTURE_NAMES, type FixtureName } from "./fixture-names.ts";
import { listCodeBlocks } from "./pages.ts";
import { BLOCK_TIMEOUT_MS, runBlock, startBlock } from "./shell.ts";

/** Time before the end of an hour or a day in which no block begins, in seconds: windows would end between requests. */
const WINDOW_END_SECONDS = 10;

/** Longest time of a test, in milliseconds: its block, and the command that shows the state after a failure. */
const TIMEOUT_MS = BLOCK_TIMEOUT_MS + 30_000;

/** Longest time in which a command that keeps running stops, in milliseconds. */
const STOP_GRACE_MS = 10_000;

const BLOCKS = listCodeBlocks(ROOT);
const RUNS = [...new Set(BLOCKS.map(({ page }) => page))].flatMap((page) =>
  FIXTURE_NAMES.map((name) => ({ page, name, blocks: blocksOf(page, name) })).filter(({ blocks }) => blocks.length > 0),
);

describe.each(RUNS)("the commands of $page ($name)", ({ name, page, blocks }) => {
  let fixture: Fixture;
  const started: ProcessGroup[] = [];

  beforeAll(async () => {
    fixture = await startFixture(name);
    for (const block of BLOCKS.filter((each) => each.page === page)) writeFiles(block, fixture.folder);
  });

  afterAll(async () => {
    for (const process of started.toReversed()) await process.stop("SIGTERM", STOP_GRACE_MS);
    await fixture.stop();
  });

  it.each(blocks)("line $line", { timeout: TIMEOUT_MS }, async (block) => {
    await eventually("the next hour", () => expect((Date.now() / 1000) % 3600).toBeLessThan(3600 - WINDOW_END_SECONDS));
    const url = block.directives.find((directive) => directive.kind === "run")?.untilUrl;
    if (url === undefined) await runBlock(block, fixture);
    else started.push(await startBlock(block, url, fixture));
  });
});

function blocksOf(page: string, name: FixtureName): readonly CodeBlock[] {
  return BLOCKS.filter(
    (block) =>
      block.page === page &&
      block.directives.some((directive) => directive.kind === "run" && directive.fixture === name),
  );
}

/** Writes the files that the page shows. */
function writeFiles({ directives, text }: CodeBlock, folder: string): void {
  for (const directive of directives) {
    if (directive.kind !== "file") continue;
    const path = join(folder, directive.name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${text}\n`);
  }
}
