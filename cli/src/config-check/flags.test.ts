// Tests of the command line of `weir-config-check`.
import { describe, expect, it } from "vitest";

import { parseConfigCheckFlags } from "./flags.ts";

describe("parseConfigCheckFlags()", () => {
  it.each([
    { args: ["-config_dir", "/etc/rules"], directory: "/etc/rules", mergeDomains: false },
    { args: ["--config_dir=/etc/a=b"], directory: "/etc/a=b", mergeDomains: false },
    { args: ["-merge_domain_configs", "-config_dir", "x"], directory: "x", mergeDomains: true },
    { args: ["-merge_domain_configs=f", "-config_dir", "x"], directory: "x", mergeDomains: false },
    { args: ["--merge_domain_configs=TRUE", "-config_dir=a", "-config_dir=b"], directory: "b", mergeDomains: true },
  ])("understands $args", ({ args, ...expected }) => {
    expect(parseConfigCheckFlags(args)).toEqual(expected);
  });

  it.each([
    { args: [], message: "name the directory with -config_dir" },
    { args: ["-config_dir="], message: "name the directory with -config_dir" },
    { args: ["-config_dir"], message: "flag needs an argument: -config_dir" },
    {
      args: ["-config-dir", "x"],
      message: "flag provided but not defined: -config-dir; known are -config_dir and -merge_domain_configs",
    },
    {
      args: ["-merge_domain_configs=yes"],
      message: 'invalid boolean value "yes" for -merge_domain_configs: allowed are true and false',
    },
    { args: ["/etc/rules"], message: 'unexpected argument "/etc/rules"; name the directory with -config_dir' },
  ])("refuses $args", ({ args, message }) => {
    expect(parseConfigCheckFlags(args)).toBe(message);
  });
});
