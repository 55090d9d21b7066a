// The part that keeps certificates.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import { CertificateKeeper, type CertificateKeeperDeps } from "./certificates/certificate-keeper.ts";
import { readService } from "./certificates/read-service.ts";
import { Controller, type ControllerDeps } from "./reconcile/controller.ts";
import { ObjectCache, type ObjectLookup } from "./reconcile/object-cache.ts";
import type { Settings } from "./settings.ts";

export interface CertificatePartDeps
  extends Omit<ControllerDeps, "reconciler">, Omit<CertificateKeeperDeps, "services"> {
  readonly settings: Pick<
    Settings,
    "namespace" | "clusterDomain" | "controlPlane" | "webhookService" | "webhook" | "reconcile"
  >;
}

/**
 * Makes the part. A change of any RateLimitService lets it look at all certificates once. `foreignSecrets`
 * has the Secrets that it found not to be its own.
 */
export function createCertificatePart(
  deps: CertificatePartDeps,
  services: ObjectLookup,
): { readonly part: Part; readonly foreignSecrets: ReadonlySet<string> } {
  const { namespace, clusterDomain, controlPlane, webhookService, webhook, reconcile } = deps.settings;
  const naming = {
    namespace,
    clusterDomain,
    controlPlaneServices: [controlPlane.service, controlPlane.adsService],
    webhookService,
    hasWebhook: webhook !== undefined,
  };
  const keeper = new CertificateKeeper({ ...deps, services: () => services.list().map(readService) }, naming);
  const controller = new Controller({ ...deps, reconciler: keeper }, new ObjectCache(), {
    ...reconcile,
    concurrency: 1,
  });
  controller.follow(services, () => [keeper.key]);
  const part: Part = {
    name: controller.name,
    start: () => {
      controller.start();
      // There may be no service.
      controller.add(keeper.key);
    },
    stop: () => controller.stop(),
  };
  return { part, foreignSecrets: keeper.foreignSecrets };
}
