// The program `weir-config-check`: checks a directory of rule files and custom resource manifests,
// with the flags and texts of envoyproxy/ratelimit's config_check_cmd.
import { runProgram } from "@weir/common/lifecycle/program";

runProgram(
  {
    name: "weir-config-check",
    summary:
      "Checks the rule files of one directory as the rate limit service would load them, and the RateLimitConfig manifests in it as the control plane would.",
    usage: "-config_dir DIRECTORY [-merge_domain_configs]",
    flags: [
      {
        flag: "-config_dir DIRECTORY",
        effect: "The directory. Every entry in it must be a rule file or a file of manifests, whatever its name.",
      },
      {
        flag: "-merge_domain_configs",
        effect: "Lets files share a domain, as the service does with MERGE_DOMAIN_CONFIG=true. Off by default.",
      },
    ],
  },
  async (context) => {
    const { runConfigCheck } = await import("./config-check/config-check.ts");
    return runConfigCheck(context);
  },
);
