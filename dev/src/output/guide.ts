// The guide that `make run` prints once everything runs: addresses, commands to try, how to stop.
// Each command works in another terminal in the root of the repository; a test runs all of them.
import { STACK_HOST } from "../setup/ports.ts";
import type { StackPorts } from "../settings.ts";

/** A PNG of 64 by 64 pixels, which the commands upload as an avatar: water above, the crest of a weir, water below. */
export const SAMPLE_AVATAR = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAfklEQVR4nO3PQQnDQAAAwfNTaxUTKTFSN4VAyCMiynXbY2AF7IzHc//r" +
    "Rn4AUB8A1AcA9QFAfQBQHwDUBwD1AUB9AFAffAo4zmtqAAA/LgHIAdvrPSkAAAAAAAAAAIB1AJMCWBjwHQbA8oDZAdQB1AHUAdQB1AHUAdQB1AHU3XmM" +
    "tKNJoCb4AAAAAElFTkSuQmCC",
  "base64",
);

/** The person that the account commands are about. */
const SAMPLE_PERSON = { email: "ada@example.com", password: "analytical engine 1843", name: "Ada Lovelace" } as const;

/** One thing to try: what it shows, and the commands. */
export interface GuideStep {
  readonly title: string;
  readonly commands: readonly string[];
}

/** The facts that the guide is made from; paths are relative to the root of the repository or absolute. */
export interface GuidePlace {
  readonly ports: StackPorts;
  readonly sourceDirectory: string;
  readonly runDirectory: string;
}

/** The whole page. */
export function describeStack(place: GuidePlace): string {
  const rows = describeListeners(place);
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  const whatWidth = Math.max(...rows.map(([, what]) => what.length));
  return [
    "",
    "Running on this machine",
    ...rows.map(([name, what, where]) => `  ${name.padEnd(nameWidth)}  ${what.padEnd(whatWidth)}  ${where}`),
    "",
    "To try, in another terminal in this folder",
    ...guideSteps(place).flatMap((step) => [`  # ${step.title}`, ...step.commands.map((command) => `  ${command}`)]),
    "",
    "Ctrl-C stops everything. This is for trying Weir out, not for production. Accounts stay in " +
      `${place.runDirectory}/account until you delete it.`,
    "",
  ].join("\n");
}

/** The things to try, in an order in which each works. */
export function guideSteps({ ports, sourceDirectory, runDirectory }: GuidePlace): readonly GuideStep[] {
  const manifest = shellWord(`${sourceDirectory}/login-protection.yaml`);
  const cookies = shellWord(`${runDirectory}/cookies`);
  const user = `http://localhost:${ports.accountHttp}/api/v1/user`;
  const { email, password, name } = SAMPLE_PERSON;
  return [
    {
      title: "ask three times whether ada may have a password reset mail, 2 a day are allowed: 200, 200, 429",
      commands: [
        `for i in 1 2 3; do curl -s -w ' %{http_code}\\n' http://${STACK_HOST}:${ports.rateLimitHttp}/json -d '${JSON.stringify(PASSWORD_RESET)}'; done`,
      ],
    },
    {
      title: "send a request over gRPC, as Envoy does, for a user of the gold plan",
      commands: [
        `node_modules/.bin/weir-client -dial_string ${STACK_HOST}:${ports.rateLimitGrpc} -domain api -descriptors plan=gold,user=1815`,
      ],
    },
    {
      title:
        "raise the limit to 5 a day and watch this terminal; then ask again, two of the five are left: 200, 200, 429",
      commands: [`perl -pi -e 's/requestsPerUnit: 2$/requestsPerUnit: 5/' ${manifest}`],
    },
    {
      title: "break the manifest: this terminal shows the error, and the old limits stay active; then fix it",
      commands: [
        `perl -pi -e 's/unit: day$/unit: fortnight/' ${manifest}`,
        `perl -pi -e 's/unit: fortnight$/unit: day/' ${manifest}`,
      ],
    },
    {
      title: "account: register with an avatar (once), log in, who am I, refresh, log out",
      commands: [
        `curl -s -w '\\n' ${user}/register -F email=${email} -F 'password=${password}' -F 'name=${name}' -F avatar=@${shellWord(`${runDirectory}/avatar.png`)}`,
        `curl -s -w '\\n' ${user}/login -c ${cookies} -H 'content-type: application/json' -d '${JSON.stringify({ email, password })}'`,
        `curl -s -w '\\n' ${user}/current-user -b ${cookies}`,
        `curl -s -w '\\n' -X POST ${user}/refresh-token -b ${cookies} -c ${cookies}`,
        `curl -s -w '\\n' -X POST ${user}/logout -b ${cookies} -c ${cookies}`,
      ],
    },
    {
      title: "guess the password of an account six times, account.yaml allows 5 a minute: 401 five times, then 429",
      commands: [
        `for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{http_code}\\n' ${user}/login -H 'content-type: application/json' -d '${JSON.stringify(GUESS)}'; done`,
      ],
    },
  ];
}

/** No account needs to exist: the answers are the same. */
const GUESS = { email: "eve@example.com", password: "guess" } as const;

/** A question that the rule `password-reset` of the examples answers. */
const PASSWORD_RESET = {
  domain: "login",
  descriptors: [
    {
      entries: [
        { key: "action", value: "password-reset" },
        { key: "account", value: "ada" },
      ],
    },
  ],
} as const;

function describeListeners({
  ports,
  sourceDirectory,
  runDirectory,
}: GuidePlace): readonly (readonly [string, string, string])[] {
  return [
    ["control plane", "manifests", sourceDirectory],
    ["", "console", `http://${STACK_HOST}:${ports.controlPlaneConsole}/`],
    ["", "weir top", `-s ${STACK_HOST}:${ports.controlPlaneConsole}`],
    ["", "ADS, mutual TLS", `${STACK_HOST}:${ports.ads}`],
    ["rate limit", "gRPC for Envoy", `${STACK_HOST}:${ports.rateLimitGrpc}`],
    ["", "HTTP", `http://${STACK_HOST}:${ports.rateLimitHttp}/json`],
    ["", "active rules", `http://${STACK_HOST}:${ports.rateLimitDebug}/rlconfig`],
    ["", "metrics", `http://${STACK_HOST}:${ports.rateLimitMetrics}/metrics`],
    ["account", "page", `http://localhost:${ports.accountHttp}/`],
    ["", "mails", `${runDirectory}/logs/weir-account.log`],
    ["", "HTTP", `http://localhost:${ports.accountHttp}/api/v1/user`],
    ["", "metrics", `http://${STACK_HOST}:${ports.accountMetrics}/metrics`],
  ];
}

// A path as one word of a POSIX shell; quoted only when it must be, because the commands are there
// to be read too.
function shellWord(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
