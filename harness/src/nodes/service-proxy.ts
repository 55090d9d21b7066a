// Does what kube-proxy does: listens at the address of each Service and passes connections to its ready
// endpoints in turn. Connections to an endpoint that is no longer ready stay, as they do in a cluster.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { joinSockets } from "../processes/join-sockets.ts";
import { CLUSTER_DOMAIN } from "./cluster-dns.ts";

/** Label of an EndpointSlice with the name of its Service. */
const SERVICE_LABEL = "kubernetes.io/service-name";

/** A port of the address of a Service. */
interface Listener {
  readonly server: Server;
  endpoints: readonly Endpoint[];
  next: number;
}

interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** The Services of a cluster. */
export class ServiceProxy {
  readonly #listeners = new Map<string, Listener>();
  readonly #sockets = new Set<Socket>();
  #names: ReadonlyMap<string, readonly string[]> = new Map();

  /** Follows what exists now. */
  async update(services: readonly Mapping[], slices: readonly Mapping[]): Promise<void> {
    const names = new Map<string, readonly string[]>();
    const wanted = new Map<string, readonly Endpoint[]>();
    for (const service of services) {
      const { name, namespace } = fieldsOf(service["metadata"]);
      const own = slices.filter(({ metadata }) => {
        const { labels, namespace: where } = fieldsOf(metadata);
        return where === namespace && fieldsOf(labels)[SERVICE_LABEL] === name;
      });
      const { clusterIP, ports } = fieldsOf(service["spec"]);
      const address = textOf(clusterIP);
      const isHeadless = address === undefined || address === "None";
      const dnsName = `${String(name)}.${String(namespace)}.svc.${CLUSTER_DOMAIN}`;
      names.set(dnsName, isHeadless ? [...new Set(own.flatMap(addressesOf))] : [address]);
      if (isHeadless) continue;
      for (const port of mappingsOf(ports))
        wanted.set(
          `${address}:${String(port["port"])}`,
          own.flatMap((slice) => endpointsOf(slice, port["name"])),
        );
    }
    this.#names = names;
    await this.#listen(wanted);
  }

  /** The addresses of a name of a Service; undefined when there is none. */
  lookup(name: string): readonly string[] | undefined {
    return this.#names.get(name);
  }

  /** Ends every connection and listener. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#listen(new Map());
  }

  async #listen(wanted: ReadonlyMap<string, readonly Endpoint[]>): Promise<void> {
    for (const [key, { server }] of this.#listeners) {
      if (wanted.has(key)) continue;
      server.close();
      this.#listeners.delete(key);
    }
    for (const [key, endpoints] of wanted) {
      const listener = this.#listeners.get(key) ?? (await this.#open(key));
      listener.endpoints = endpoints;
    }
  }

  async #open(key: string): Promise<Listener> {
    const [host = "", port] = key.split(":");
    const server = createServer((client) => {
      const endpoint = listener.endpoints[listener.next % listener.endpoints.length];
      listener.next += 1;
      // Like the REJECT rule that kube-proxy makes for a Service without endpoints.
      if (endpoint === undefined) client.resetAndDestroy();
      else joinSockets(client, connect(endpoint.port, endpoint.address), this.#sockets);
    });
    const listener: Listener = { server, endpoints: [], next: 0 };
    await once(server.listen(Number(port), host), "listening");
    this.#listeners.set(key, listener);
    return listener;
  }
}

function readyEndpoints(slice: Mapping): readonly Mapping[] {
  return mappingsOf(slice["endpoints"]).filter(({ conditions }) => fieldsOf(conditions)["ready"] !== false);
}

function addressesOf(slice: Mapping): readonly string[] {
  return readyEndpoints(slice).flatMap(({ addresses }) => addresses as readonly string[]);
}

/** A slice has the ports by the names in the Service; a single one may have none. */
function endpointsOf(slice: Mapping, portName: unknown): readonly Endpoint[] {
  const port = mappingsOf(slice["ports"]).find(({ name = "" }) => name === (portName ?? ""))?.["port"];
  return port === undefined ? [] : addressesOf(slice).map((address) => ({ address, port: Number(port) }));
}
