// The pages that are made from the code: their content, and that odd text does not break
// their tables.
import { describe, expect, it } from "vitest";
import { docCommentOf, formatErrorPage } from "./error-docs.ts";
import { formatGroupedPage, formatSettingsPage } from "./settings-docs.ts";
import { inlineCode, markdownTable } from "./generated-page.ts";

describe("formatErrorPage()", () => {
  it("gives each workspace a section and each table its sentence and rows", () => {
    const page = formatErrorPage([
      {
        workspace: "common",
        intro: "Of the plumbing.",
        entries: { LISTEN_FAILED: { meaning: "The port is taken", remedy: "Free it." } },
      },
      {
        workspace: "account",
        intro: "Of calls.",
        entries: { token_expired: { meaning: "Too old.", remedy: "Refresh." } },
      },
      { workspace: "account", intro: "Of the start.", entries: {} },
    ]);
    expect(page).toContain("## common\n\nOf the plumbing.\n\n| Code | What it means | What to do |");
    expect(page).toContain("| `LISTEN_FAILED` | The port is taken. | Free it. |");
    expect(page.match(/^## .*/gm)).toEqual(["## common", "## account"]);
  });
});

describe("formatSettingsPage()", () => {
  it("lists names, aliases and the text for no default", () => {
    const settings = [
      { names: ["GRPC_PORT"], type: "port", default: "8081", effect: "Port for gRPC." },
      { names: ["KVSTORE_URL", "REDIS_URL"], type: "text", default: "", effect: "The store." },
    ];
    const page = formatSettingsPage([{ program: "weir-ratelimit", settings }]);
    expect(page).toContain("## `weir-ratelimit`");
    expect(page).toContain("| `GRPC_PORT` | port | `8081` | Port for gRPC. |");
    expect(page).toContain("| `KVSTORE_URL`, also `REDIS_URL` | text | not set | The store. |");
  });
});

describe("formatGroupedPage()", () => {
  it("has a table per group, links to them, and the variables without effect", () => {
    const rows = [{ names: ["GRPC_PORT"], type: "port", default: "8081", effect: "Port for gRPC." }];
    const page = formatGroupedPage({
      program: "weir-ratelimit",
      page: "ratelimit-settings.md",
      groups: [{ title: "Counters in a store (Redis)", rows }],
      withoutEffect: [{ name: "GOGC", reason: "it tunes Go" }],
    });
    expect(page).toContain("# Settings of `weir-ratelimit`");
    expect(page).toContain("- [Counters in a store (Redis)](#counters-in-a-store-redis)");
    expect(page).toContain("## Counters in a store (Redis)\n\n| Setting | Type | Default | Effect |");
    expect(page).toContain("| `GRPC_PORT` | port | `8081` | Port for gRPC. |");
    expect(page).toContain("| `GOGC` | It tunes Go. |");
  });

  it("is what the list of all settings points to", () => {
    expect(formatSettingsPage([{ program: "weir-ratelimit", settings: "ratelimit-settings.md" }])).toContain(
      "## `weir-ratelimit`\n\nSee [its own page](ratelimit-settings.md).",
    );
  });
});

describe("markdownTable()", () => {
  it("escapes bars and joins lines when a cell holds them", () => {
    expect(markdownTable(["A"], [["x|y\n  z"]])).toBe("| A |\n| --- |\n| x\\|y z |");
  });
});

describe("inlineCode()", () => {
  it("doubles the quotes when the text holds one", () => {
    expect(inlineCode("a`b")).toBe("`` a`b ``");
  });
});

describe("docCommentOf()", () => {
  it("joins the lines of the comment and unwraps its links", () => {
    const text = "/**\n * Codes of calls,\n * see {@link Other}.\n */\nexport const CALL_ERRORS = {};";
    expect(docCommentOf(text, "CALL_ERRORS")).toBe("Codes of calls, see Other.");
  });

  it("refuses when there is no comment", () => {
    expect(() =>
      docCommentOf("/** Of another. */\nconst A = 1;\nexport const CALL_ERRORS = {};", "CALL_ERRORS"),
    ).toThrow("Cannot describe CALL_ERRORS: it has no doc comment");
  });
});
