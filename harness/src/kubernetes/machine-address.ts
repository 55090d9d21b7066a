// Finds an address of this machine that an EndpointSlice may have: the API server takes none of the
// loopback network 127.0.0.0/8 and no link-local one.
import { execFileSync } from "node:child_process";
import { networkInterfaces } from "node:os";

/** What the loopback interface is given when there is no such address. */
const OWN_ADDRESS = "10.88.0.1";

const REFUSED = /^(127|169\.254)\./;

/**
 * The first such IPv4 address. A machine that has none is given one by `give`; throws when this user
 * may not do that.
 */
export function machineAddress(interfaces = networkInterfaces(), give = giveAddress): string {
  const all = Object.values(interfaces).flatMap((addresses = []) => addresses);
  const usable = all.find(({ family, address }) => family === "IPv4" && !REFUSED.test(address));
  if (usable !== undefined) return usable.address;
  try {
    give(OWN_ADDRESS);
    return OWN_ADDRESS;
  } catch (cause) {
    throw new Error(
      `Cannot make endpoints of the control plane: the API server takes no loopback address, and this machine has no other IPv4 address; with \`ip address add ${OWN_ADDRESS}/32 dev lo\`, as root, it has one`,
      { cause },
    );
  }
}

function giveAddress(address: string): void {
  execFileSync("ip", ["address", "add", `${address}/32`, "dev", "lo"], { stdio: "ignore" });
}
