// Decides what a client of the listener for pods may do: open a stream, in which fleet, and read
// reports. Refusals are counted and logged.
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { Node } from "@weir/proto/generated/envoy/config/core/v3/base_pb";

import type { AdsPeer } from "./ads-peer.ts";
import { type AdsSecurity, type CallRefusal, nameRefusal, reportRefusal } from "./ads-security.ts";
import { type CertificateFleet, fleetOfCertificate, type FleetRefusal, otherNameRefusal } from "./certificate-fleet.ts";

export interface AdsAccessDeps {
  readonly security: AdsSecurity;
  readonly warnings: RateLimitedLog;
  /** Counts a refusal. */
  readonly refused: (reason: "name-not-allowed" | "fleet-not-allowed") => void;
}

export interface PodAccess {
  readonly refusal?: CallRefusal | undefined;
  /** Namespace and fleet of its certificate; undefined: the pod names them itself. */
  readonly granted?: CertificateFleet | undefined;
}

/** The decisions. */
export class AdsAccess {
  readonly #deps: AdsAccessDeps;

  constructor(deps: AdsAccessDeps) {
    this.#deps = deps;
  }

  /** Decides whether a pod may use a discovery method, and in which fleet. */
  admitPod(peer: AdsPeer): PodAccess {
    const { security, warnings } = this.#deps;
    const refusal = this.#countName(nameRefusal(peer, security, warnings));
    if (refusal !== undefined) return { refusal };
    if (security.kind === "plaintext" || security.isFleetFromCertificate !== true) return {};
    const granted = fleetOfCertificate(peer.certificate);
    return "code" in granted ? { refusal: this.#refuseFleet(peer, granted) } : { granted };
  }

  /** Refuses a request whose node names another fleet or namespace than the certificate of the pod. */
  refuseNode(peer: AdsPeer, { granted }: PodAccess, node: Node | undefined): CallRefusal | undefined {
    const refusal = granted === undefined ? undefined : otherNameRefusal(node, granted);
    return refusal === undefined ? undefined : this.#refuseFleet(peer, refusal);
  }

  /** Refuses a client that may not read reports. */
  refuseReports(peer: AdsPeer): CallRefusal | undefined {
    const { security, warnings } = this.#deps;
    return this.#countName(reportRefusal(peer, security, warnings));
  }

  #countName(refusal: CallRefusal | undefined): CallRefusal | undefined {
    if (refusal !== undefined) this.#deps.refused("name-not-allowed");
    return refusal;
  }

  #refuseFleet(peer: AdsPeer, { code, details, message, fields }: FleetRefusal): CallRefusal {
    this.#deps.refused("fleet-not-allowed");
    this.#deps.warnings.warn(message, { peer: peer.address, ...fields });
    return { code, details };
  }
}
