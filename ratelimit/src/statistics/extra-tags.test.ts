// Extra tags inside names.
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "./statistics-store.ts";
import { countReservedTags, createTagger } from "./extra-tags.ts";

describe("createTagger()", () => {
  it.each([
    { tags: [], name: "a.b", tagged: "a.b" },
    { tags: [], name: "a.b.__code=success", tagged: "a.b.__code=success" },
    {
      tags: ["foo:bar", "a:b"],
      name: "ratelimit.service.config_load_error",
      tagged: "ratelimit.service.config_load_error.__a=b.__foo=bar",
    },
    {
      tags: ["foo:bar", "a:b"],
      name: "m.multiget.__code=success",
      tagged: "m.multiget.__a=b.__code=success.__foo=bar",
    },
    { tags: ["code:mine", "a:b"], name: "m.multiget.__code=success", tagged: "m.multiget.__a=b.__code=success" },
    { tags: ["a:b"], name: "rule.k.__x=1.total_hits", tagged: "rule.k.__x=1.total_hits.__a=b" },
    { tags: ["a:b"], name: "odd.__", tagged: "odd.__.__a=b" },
    { tags: ["v:1.2:3|4", "w:x\ny"], name: "n", tagged: "n.__v=1_2_3_4.__w=x_y" },
    { tags: ["empty:", ":nothing", "k=|:v"], name: "n", tagged: "n.__k__=v" },
  ])("case 188: createTagger() makes $tagged of $name when the tags are $tags", ({ tags, name, tagged }) => {
    const pairs = tags.map((tag): [string, string] => [
      tag.slice(0, tag.indexOf(":")),
      tag.slice(tag.indexOf(":") + 1),
    ]);
    expect(createTagger(new Map(pairs))(name)).toBe(tagged);
  });
});

describe("countReservedTags()", () => {
  it("countReservedTags() adds one per reserved key, and makes the counter at zero when there is none", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    countReservedTags(store, new Map([["team", "x"]]));
    expect(store.counter("reserved_tag").value).toBe(0);
    countReservedTags(
      store,
      new Map(["host", "team", "az", "envoyservice"].map((key): [string, string] => [key, "x"])),
    );
    expect(store.counter("reserved_tag").value).toBe(3);
  });
});
