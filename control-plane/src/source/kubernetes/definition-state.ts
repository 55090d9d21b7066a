// Knows whether the CustomResourceDefinition of RateLimitConfigs is there: from the definition itself
// where the account may watch it, and from an API server that does not serve RateLimitConfigs.
import type { Log } from "@weir/common/log/log";
import type { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { type ApiResource, describeResource } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectSink, ReflectorDeps } from "@weir/kubernetes/reflector/reflector-run";

/** The CustomResourceDefinition. */
export const DEFINITION: ApiResource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  namespace: undefined,
  labelSelector: undefined,
  name: "ratelimitconfigs.ratelimit.weir.dev",
};

export interface DefinitionStateDeps {
  readonly log: Log;
  /** Called when the definition is there, and when it is gone or being deleted. */
  readonly changed: (isDefined: boolean) => void;
}

/** The state of the definition. The account may lack the right to watch it. */
export class DefinitionState {
  readonly #deps: DefinitionStateDeps;
  /** Undefined while the definition itself is not followed. */
  #isPresent: boolean | undefined;
  /** The UID of the definition when it was last there. */
  #uid: string | undefined;
  /** The lists that the API server does not serve, or that show what vanished with an earlier definition. */
  readonly #missing = new Set<ApiResource>();
  /** The lists that are to be read again after a failure. */
  readonly #unread = new Set<ApiResource>();
  #isDefined = true;
  #isForbidden = false;

  constructor(deps: DefinitionStateDeps) {
    this.#deps = deps;
  }

  /** Why RateLimitConfigs are not followed although they can be listed; undefined if they are. */
  problem(): string | undefined {
    return this.#isPresent === false
      ? `${describeResource(DEFINITION)} is gone or being deleted, what vanishes with it stays active`
      : undefined;
  }

  /** Notes the failure of a list or watch of RateLimitConfigs. */
  failed(resource: ApiResource, failure: ApiFailure): void {
    this.#unread.add(resource);
    if (!failure.isKindMissing) return;
    this.#missing.add(resource);
    this.#update();
  }

  /** Notes that RateLimitConfigs were listed. */
  listed(resource: ApiResource): void {
    this.#unread.delete(resource);
    this.#missing.delete(resource);
    this.#update();
  }

  /** The parts that a reflector of the definition needs. Its failures are not those of the source. */
  reflectorParts(): Pick<ReflectorDeps, "sink" | "problems"> {
    const { log } = this.#deps;
    return {
      sink: this.#sink(),
      problems: {
        failed: (resource, failure) => {
          if (!failure.isRefusal) return;
          this.#note(undefined);
          if (this.#isForbidden) return;
          this.#isForbidden = true;
          log.info("The CustomResourceDefinition is not watched, so its deletion is noticed later", {
            resource,
            reason: failure.reason,
          });
        },
        following: () => {
          this.#isForbidden = false;
        },
      },
    };
  }

  #sink(): ObjectSink {
    const note = (object: KubernetesObject | undefined): boolean => {
      const metadata = object?.content["metadata"] as Readonly<Record<string, unknown>> | undefined;
      const isPresent = metadata !== undefined && metadata["deletionTimestamp"] === undefined;
      if (isPresent) this.#noteUid(object?.uid);
      this.#note(isPresent);
      return false;
    };
    return {
      take: ({ objects: [object] }) => note(object),
      put: note,
      delete: () => note(undefined),
      needsList: () => false,
    };
  }

  /** Another definition: the earlier one was deleted, perhaps while the API server was not reachable. */
  #noteUid(uid: string | undefined): void {
    const isOther = this.#uid !== undefined && this.#uid !== uid;
    this.#uid = uid;
    if (!isOther) return;
    this.#note(false);
    for (const resource of this.#unread) this.#missing.add(resource);
  }

  #note(isPresent: boolean | undefined): void {
    this.#isPresent = isPresent;
    this.#update();
  }

  #update(): void {
    const isDefined = this.#isPresent !== false && this.#missing.size === 0;
    if (isDefined === this.#isDefined) return;
    this.#isDefined = isDefined;
    this.#deps.changed(isDefined);
  }
}
