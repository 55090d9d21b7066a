// Finds exports, files and packages that no file uses. `knip` looks at everything, `knip --production` at
// what ships and at what tests share (*.suite.ts, e2e), so that a test alone keeps no export.
import type { KnipConfig } from "knip";

const config: KnipConfig = ({ production = false }) => ({
  // A type in the signature of an export is for its users; a test may import what its file uses.
  ignoreExportsUsedInFile: production ? true : { interface: true, type: true },
  // Every file of a workspace is an entry of its package.json.
  includeEntryExports: true,
  // Programs that tools/test/test-setup.ts installs, or of the machine.
  ignoreBinaries: ["go", "ip", "memcached", "mkfifo", "prlimit", "promtool", "redis-cli", "redis-server", "taskset"],
  ignoreIssues: {
    "**/generated/**": ["exports", "types"],
    // Front ends use these.
    "account/src/client/account-client.ts": ["exports", "types"],
    // tools/generate reads these by name.
    "*/src/errors.ts": ["exports"],
    "charts/src/chart-files.ts": ["exports"],
    "crds/src/reference.ts": ["exports"],
    "**/settings.ts": ["exports"],
    // vitest loads it by its path.
    "tools/test/tally-reporter.ts": ["exports"],
    ...(production && { "**/*.suite.ts": ["exports", "types"], "{charts,e2e,harness}/**": ["exports", "types"] }),
  },
  workspaces: {
    ".": {
      entry: [
        "tools/{pages/build-pages,gates/check*,generate/*-docs,generate/{account-client,data-plane-settings,generate},images/{build,collect},release/release,test/test}.ts!",
      ],
      project: ["tools/**/*.ts!", "!tools/**/*.test.ts!"],
      // Launchers, proto/generate.sh and tools/gates/check-openapi.ts run them.
      ignoreDependencies: ["node", "@bufbuild/buf", "@bufbuild/protoc-gen-es", "@redocly/cli"],
    },
    account: { entry: ["src/page/main.ts!", "src/**/*.suite.ts!"], project: ["src/**/*.ts!", "!src/**/*.test.ts!"] },
    console: { entry: ["src/main.ts!"], project: ["src/**/*.ts!", "!src/**/*.test.ts!"] },
    "control-plane": {
      entry: ["src/**/*.suite.ts!"],
      project: ["src/**/*.ts!", "!src/**/*.test.ts!"],
      ignoreDependencies: ["@weir/console"], // Files that it serves.
    },
    proto: {
      ignoreDependencies: ["@grpc/grpc-js-xds"], // A test reads its .proto files.
    },
    "*": { entry: ["src/**/*.suite.ts!"], project: ["src/**/*.ts!", "!src/**/*.test.ts!"] },
  },
});
export default config;
