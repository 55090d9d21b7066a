// Runs `weir-account duplicates`: names the accounts that share an address, by id, and gives the address
// to the one that a person chooses. The service may run meanwhile.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { StartError } from "./errors.ts";
import type { Settings } from "./settings/settings.ts";
import type { UserRecord } from "./store/user-store.ts";
import { TIMEOUTS } from "./store/mongo/mongo-connection.ts";
import { classifyError } from "./store/mongo/mongo-failure.ts";
import { UserCollection } from "./store/mongo/user-collection.ts";

/** Most addresses that one run lists. */
const ADDRESSES_MAX = 1000;

/**
 * Gives the address of the account `keep` to it alone, and lists what is left; resolves to the exit code,
 * which is 1 while an address has several accounts. No text has an address.
 */
export async function runDuplicates(
  { store }: Pick<Settings, "store">,
  keep: string | undefined,
  context: Pick<ProgramContext, "stdout" | "stderr">,
): Promise<number> {
  if (store.kind === "embedded") {
    context.stdout("The embedded store lets no two accounts have one address.\n");
    return 0;
  }
  try {
    const users = await UserCollection.connect(store.uri.reveal(), TIMEOUTS);
    try {
      const isKept = keep === undefined || (await keepAddress(users, keep, context));
      return isKept ? await list(users, context) : 1;
    } finally {
      await users.close();
    }
  } catch (error) {
    throw new StartError("STORE_UNUSABLE", `Cannot resolve duplicates: ${classifyError(error).text}`);
  }
}

async function list(users: UserCollection, { stdout }: Pick<ProgramContext, "stdout">): Promise<number> {
  const groups = await users.findDuplicates(ADDRESSES_MAX);
  for (const group of groups) stdout(`These accounts have one address:\n${group.map(describe).join("")}`);
  stdout(
    groups.length === 0
      ? "No address has several accounts.\n"
      : "Name the account that keeps the address: weir-account duplicates --keep ID\n",
  );
  return groups.length === 0 ? 0 : 1;
}

/** Takes the address from all accounts but `id`. They keep everything else; nobody can log in to them. */
async function keepAddress(
  users: UserCollection,
  id: string,
  { stdout, stderr }: Pick<ProgramContext, "stdout" | "stderr">,
): Promise<boolean> {
  const groups = await users.findDuplicates(ADDRESSES_MAX);
  const group = groups.find((each) => each.some((user) => user.id === id));
  if (group === undefined) {
    stderr(`weir-account: Cannot keep ${JSON.stringify(id)}: no account with this id shares its address\n`);
    return false;
  }
  for (const other of group.filter((user) => user.id !== id)) {
    const change = {
      emailKey: `without-address:${other.id}`,
      sessions: [],
      refreshToken: null,
      updatedAtMs: Date.now(),
    };
    if (!(await users.update(other.id, other.revision, change))) {
      stderr(`weir-account: Cannot change ${other.id}: it was changed meanwhile; try again\n`);
      return false;
    }
    stdout(`${other.id} has no address any more and is logged out; ${id} keeps it\n`);
  }
  return true;
}

function describe({ id, createdAtMs, sessions }: UserRecord): string {
  const lastUsedMs = Math.max(0, ...sessions.map(({ lastUsedAtMs }) => lastUsedAtMs));
  const use = lastUsedMs === 0 ? "not logged in" : `last used ${new Date(lastUsedMs).toISOString()}`;
  return `  ${id} registered ${new Date(createdAtMs).toISOString()}, ${use}\n`;
}
