import { describe, expect, it } from "vitest";
import { describeLogLine } from "./log-lines.ts";

describe("describeLogLine()", () => {
  it.each([
    { line: '{"@timestamp":"t","@message":"started","level":"info"}', text: undefined },
    { line: '{"@timestamp":"t","@message":"one decision","level":"debug"}', text: undefined },
    { line: "   ", text: undefined },
    {
      line: '{"@timestamp":"t","@message":"stream lost","level":"warning","peer":"p1","count":2}',
      text: "warning: stream lost (peer=p1, count=2)",
    },
    { line: '{"@timestamp":"t","@message":"store gone","level":"error"}', text: "error: store gone" },
    { line: '{"@message":"Not fit for production","level":"warning","reason":"kept here"}', text: undefined },
    { line: '{"@message":"Refused a manifest","level":"warning","file":"a.yaml","line":3}', text: undefined },
    { line: "TypeError: x is not a function", text: "TypeError: x is not a function" },
    { line: '{"@message":"cut sho', text: '{"@message":"cut sho' },
    { line: '{"other":"json"}', text: '{"other":"json"}' },
  ])("gives $text when the line is $line", ({ line, text }) => {
    expect(describeLogLine(line)).toBe(text);
  });

  it("shortens a field that would fill the screen", () => {
    const text = describeLogLine(
      JSON.stringify({ "@timestamp": "t", "@message": "m", level: "error", dump: "x".repeat(5000) }),
    );
    expect(text).toBe(`error: m (dump=${"x".repeat(300)}…)`);
  });
});
