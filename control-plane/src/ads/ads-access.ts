// Decides what a client of the listener for pods may do: open a stream, in which fleet, and read
// reports. Refusals are counted and logged.
import { status } from "@grpc/grpc-js";
import type { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { Node } from "@weir/proto/generated/envoy/config/core/v3/base_pb";

import { type AdsSecurity, type CallRefusal, nameRefusal, reportRefusal, type SecuredCall } from "./ads-security.ts";
import { type CertificateFleet, fleetOfCertificate, type FleetRefusal, otherNameRefusal } from "./certificate-fleet.ts";
import { peerOf } from "./peer-address.ts";

/** What decisions are made with. */
export interface AdsAccessDeps {
  readonly security: AdsSecurity;
  readonly warnings: RateLimitedLog;
  /** Counts a refusal. */
  readonly refused: (reason: "name-not-allowed" | "fleet-not-allowed") => void;
}

/** The access of a pod. */
export interface PodAccess {
  readonly refusal?: CallRefusal | undefined;
  /** Namespace and fleet of its certificate; undefined: the pod names them itself. */
  readonly granted?: CertificateFleet | undefined;
}

/** The answer to a call whose connection is gone, which no client receives. */
const GONE: CallRefusal = { code: status.UNAVAILABLE, details: "the connection is gone" };

/** The decisions. */
export class AdsAccess {
  readonly #deps: AdsAccessDeps;

  constructor(deps: AdsAccessDeps) {
    this.#deps = deps;
  }

  /** Whether a pod may use a discovery method, and in which fleet. */
  admitPod(call: SecuredCall): PodAccess {
    const { security, warnings } = this.#deps;
    if (isGone(call, security)) return { refusal: GONE };
    const refusal = this.#countName(nameRefusal(call, security, warnings));
    if (refusal !== undefined) return { refusal };
    if (security.kind === "plaintext" || security.isFleetFromCertificate !== true) return {};
    const granted = fleetOfCertificate(call.getAuthContext().sslPeerCertificate);
    return "code" in granted ? { refusal: this.#refuseFleet(call, granted) } : { granted };
  }

  /** Refuses a request whose node names another fleet or namespace than the certificate of the pod. */
  refuseNode(call: SecuredCall, { granted }: PodAccess, node: Node | undefined): CallRefusal | undefined {
    const refusal = granted === undefined ? undefined : otherNameRefusal(node, granted);
    return refusal === undefined ? undefined : this.#refuseFleet(call, refusal);
  }

  /** Refuses a client that may not read reports. */
  refuseReports(call: SecuredCall): CallRefusal | undefined {
    const { security, warnings } = this.#deps;
    if (isGone(call, security)) return GONE;
    return this.#countName(reportRefusal(call, security, warnings));
  }

  #countName(refusal: CallRefusal | undefined): CallRefusal | undefined {
    if (refusal !== undefined) this.#deps.refused("name-not-allowed");
    return refusal;
  }

  #refuseFleet(call: SecuredCall, { code, details, message, fields }: FleetRefusal): CallRefusal {
    this.#deps.refused("fleet-not-allowed");
    this.#deps.warnings.warn(message, { peer: peerOf(call), ...fields });
    return { code, details };
  }
}

/** Whether the connection ended before its call was looked at: the listener admits none without a certificate. */
function isGone(call: SecuredCall, security: AdsSecurity): boolean {
  return security.kind !== "plaintext" && call.getAuthContext().sslPeerCertificate === undefined;
}
