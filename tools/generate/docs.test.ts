// The pages that are made from the code: their content, and that odd text does not break
// their tables.
import { describe, expect, it } from "vitest";
import { docCommentOf, formatErrors } from "./error-docs.ts";
import { formatGroups, formatSettings } from "./settings-docs.ts";
import { inlineCode, markdownTable } from "./generated-page.ts";
import { mappedMetrics, metricsIn } from "./metrics-of-programs.ts";
import { formatAlerts, formatCapacity, formatMetrics } from "./operations-docs.ts";

describe("formatErrors()", () => {
  it("gives each workspace a section and each table its sentence and rows", () => {
    const page = formatErrors([
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

describe("formatSettings()", () => {
  it("lists names, aliases and the text for no default", () => {
    const settings = [
      { names: ["GRPC_PORT"], type: "port", default: "8081", effect: "Port for gRPC." },
      { names: ["KVSTORE_URL", "REDIS_URL"], type: "text", default: "", effect: "The store." },
    ];
    const page = formatSettings([{ program: "weir-ratelimit", settings }]);
    expect(page).toContain("## `weir-ratelimit`");
    expect(page).toContain("| `GRPC_PORT` | port | `8081` | Port for gRPC. |");
    expect(page).toContain("| `KVSTORE_URL`, also `REDIS_URL` | text | not set | The store. |");
  });
});

describe("formatGroups()", () => {
  it("has a table per group, links to them, and the variables without effect", () => {
    const rows = [{ names: ["GRPC_PORT"], type: "port", default: "8081", effect: "Port for gRPC." }];
    const { settings, "without effect": withoutEffect } = formatGroups({
      groups: [{ title: "Counters in a store (Redis)", rows }],
      withoutEffect: [{ name: "GOGC", reason: "it tunes Go" }],
    });
    expect(settings).toContain("- [Counters in a store (Redis)](#counters-in-a-store-redis)");
    expect(settings).toContain("## Counters in a store (Redis)\n\n| Setting | Type | Default | Effect |");
    expect(settings).toContain("| `GRPC_PORT` | port | `8081` | Port for gRPC. |");
    expect(withoutEffect).toContain("| `GOGC` | It tunes Go. |");
  });

  it("is what the list of all settings points to", () => {
    expect(formatSettings([{ program: "weir-ratelimit", settings: "ratelimit-settings.md" }])).toContain(
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

describe("formatCapacity()", () => {
  const measured = ([group, load]: readonly [string, string], perSecond: number) => ({
    ...{ group, load, contender: "weir" },
    samples: [perSecond - 1, perSecond, perSecond + 1].map((each) => ({ perSecond: each, residentBytes: 99_000_001 })),
  });
  const rows = [
    measured(["redis", "8x64"], 100_000),
    measured(["redis", "16x1"], 10_000),
    measured(["tls", "8x64"], 100_000),
    measured(["over-limit", "8x64"], 400_000),
    measured(["memcached", "16x1"], 45_000),
    measured(["everything-on", "16x1"], 10_000),
  ];

  it("plans with 60 % of the median, and with enough when one replica is gone", () => {
    const page = formatCapacity(rows);
    expect(page).toContain("| Redis, few busy proxies | 100,000 | 100 MB | 2 | 2 | 4 |");
    expect(page).toContain("| Redis, proxies that send one request at a time | 10,000 | 100 MB | 2 | 9 | 34 |");
    expect(page).toContain("| memcached, proxies that send one request at a time | 45,000 | 100 MB | 2 | 3 | 8 |");
  });

  it("throws when a row is missing", () => {
    expect(() => formatCapacity(rows.slice(1))).toThrow("Cannot plan with redis/8x64/weir");
  });
});

describe("formatAlerts()", () => {
  it("has the severity, the time, the texts without templates, and the expression", () => {
    const annotations = { summary: "{{ $value | humanize }} of {{ $labels.fleet }}", description: "Wait for <error>." };
    const rule = { alert: "WeirGone", expr: "up == 0", for: "5m", labels: { severity: "info" }, annotations };
    expect(formatAlerts([rule])).toBe(
      "#### WeirGone\n\n**info**, after 5m: _value_ of _fleet_\n\nWait for `<error>`.\n\n```promql\nup == 0\n```",
    );
  });
});

describe("formatMetrics()", () => {
  it("lists the metrics of a scrape with type and labels, without those of the process", () => {
    const text = [
      "# HELP process_x Of the process.\n# TYPE process_x gauge\nprocess_x 1",
      '# HELP b_seconds Time.\n# TYPE b_seconds histogram\nb_seconds_bucket{le="1",route="/"} 0',
      "# HELP a_total Things.\n# TYPE a_total counter\na_total 0",
    ].join("\n");
    expect(
      formatMetrics([{ program: "weir-x", metrics: metricsIn(text) }])
        .split("\n")
        .slice(4),
    ).toEqual(["| `a_total` | counter |  | Things |", "| `b_seconds` | histogram | `route` | Time |"]);
  });

  it("reads a mapping file: the labels of all lines of a metric, and none without help", () => {
    const line = "  - { match_metric_type: counter, name: hits, help: Hits, labels: ";
    const text = `mappings:\n${line}{ domain: $1 } }\n${line}{ domain: $1, key: $2 } }\n  - { match_metric_type: gauge, name: other }\n`;
    expect(mappedMetrics(text)).toEqual([{ name: "hits", type: "counter", help: "Hits", labels: ["domain", "key"] }]);
  });
});
