// Mogrifiers: how they rewrite names, and invalid ones.
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";
import { type Mogrifier, type MogrifierTexts, mogrify, parseMogrifier } from "./mogrifier.ts";

const RULE = "^ratelimit\\.service\\.rate_limit\\.(.*)\\.(.*)\\.(.*)$";
const INPUT = "ratelimit.service.rate_limit.mongo_cps.database_users.within_limit";

function texts(pattern?: string, name?: string, tags?: string): MogrifierTexts {
  return { PATTERN: pattern, NAME: name, TAGS: tags };
}

/** A mogrifier or undefined, and the problems with its settings. */
function parse(written: MogrifierTexts) {
  const problems: { readonly setting: string; readonly message: string }[] = [];
  const mogrifier = parseMogrifier("M", written, (setting, message) => problems.push({ setting, message }));
  return { mogrifier, problems };
}

function parsed(pattern: string, name: string, tags?: string): Mogrifier {
  const { mogrifier, problems } = parse(texts(pattern, name, tags));
  if (mogrifier === undefined) throw new Error(problems[0]?.message);
  return mogrifier;
}

describe("mogrify()", () => {
  it.each([
    {
      what: "groups",
      pattern: RULE,
      name: "r.$3",
      tags: "domain:$1,descriptor:$2",
      input: INPUT,
      gives: ["r.within_limit", "domain:mongo_cps", "descriptor:database_users"],
    },
    {
      what: "a group that is not there",
      pattern: RULE,
      name: "r.$5",
      tags: "x:$4",
      input: INPUT,
      gives: ["r.$5", "x:$4"],
    },
    { what: "the whole match", pattern: "b+", name: "[$0]", tags: "", input: "abbc", gives: ["[bb]"] },
    { what: "digits as far as they go", pattern: "(b)", name: "$11-$1x", tags: "", input: "abc", gives: ["$11-bx"] },
    {
      what: "a group that took no part",
      pattern: "a(x)?",
      name: "<$1>",
      tags: "t:$1",
      input: "abc",
      gives: ["<>", "t:"],
    },
    { what: "a name that does not match", pattern: "^z", name: "y", tags: "a:b", input: "abc", gives: ["abc"] },
    { what: "a dollar alone", pattern: "a", name: "$$a$", tags: "", input: "abc", gives: ["$$a$"] },
    { what: "equal keys", pattern: "a", name: "n", tags: "k:1,k:2", input: "a", gives: ["n", "k:2"] },
  ])("case 186: mogrify() takes $what", ({ pattern, name, tags, input, gives }) => {
    const result = mogrify([parsed(pattern, name, tags)], input);
    expect([result.name, ...result.tags]).toEqual(gives);
  });

  it("case 186: mogrify() takes the first of two that match", () => {
    const [never, first, second] = [parsed("^z", "z"), parsed("a", "first", "n:1"), parsed("a", "second", "n:2")];
    expect(mogrify([never, first, second], "a")).toEqual({ name: "first", tags: ["n:1"] });
  });

  it("case 187: mogrify() does not change names when there is none", () => {
    expect(mogrify([], "a.b")).toEqual({ name: "a.b", tags: [] });
  });

  it("mogrify() gives what the groups say for any name", () => {
    const random = new Random(7);
    const mogrifier = parsed("^([^.]*)\\.(.*)$", "$2.$1.$3", "first:$1");
    for (let round = 0; round < 2000; round++) {
      const name = random.text("ab.$_:|#,=é\u{1f600}\n0", 30);
      const dot = name.indexOf(".");
      // The second group stops at a line end, and the match must reach the end of the name.
      const isMatched = dot !== -1 && !name.slice(dot).includes("\n");
      const [head, rest] = [name.slice(0, dot), name.slice(dot + 1)];
      expect(mogrify([mogrifier], name)).toEqual(
        isMatched ? { name: `${rest}.${head}.$3`, tags: [`first:${head}`] } : { name, tags: [] },
      );
    }
  });
});

describe("parseMogrifier()", () => {
  it.each([
    {
      what: "no pattern",
      texts: texts(undefined, "n"),
      setting: "PATTERN",
      message: "no PATTERN specified for mogrifier M",
    },
    { what: "no name", texts: texts("p"), setting: "NAME", message: "no NAME specified for mogrifier M" },
    {
      what: "no key",
      texts: texts("p", "n", ":5"),
      setting: "TAGS",
      message: 'no key specified for tag ":5" for mogrifier M',
    },
    {
      what: "no value",
      texts: texts("p", "n", "descriptor:"),
      setting: "TAGS",
      message: 'no value specified for tag "descriptor:" for mogrifier M',
    },
    {
      what: "a tag without a colon",
      texts: texts("p", "n", "a:b,c"),
      setting: "TAGS",
      message: 'invalid map item "c" for mogrifier M: a tag is key:value with exactly one colon',
    },
    {
      what: "a tag with two",
      texts: texts("p", "n", "a:b:c"),
      setting: "TAGS",
      message: 'invalid map item "a:b:c" for mogrifier M: a tag is key:value with exactly one colon',
    },
  ])("case 187: parseMogrifier() refuses $what", ({ texts: written, setting, message }) => {
    expect(parse(written)).toEqual({ mogrifier: undefined, problems: [{ setting, message }] });
  });

  it("case 187: parseMogrifier() refuses a pattern that does not compile, with everything else that is wrong", () => {
    expect(parse(texts("(a", undefined, ":"))).toEqual({
      mogrifier: undefined,
      problems: [
        { setting: "PATTERN", message: expect.stringMatching(/^failed to compile pattern for M: \(a: .+/) as string },
        { setting: "NAME", message: "no NAME specified for mogrifier M" },
        { setting: "TAGS", message: 'no key specified for tag ":" for mogrifier M' },
      ],
    });
  });
});
