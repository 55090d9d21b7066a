// Tests of report-watch.ts with a replica that answers: how much is done when one resource of many changes.
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { silentLog } from "@weir/common/log/log";
import { RolloutService, type WatchRolloutResponseSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { eventually } from "@weir/harness/processes/eventually";
import { expect, it, vi } from "vitest";

import { ReportWatch } from "./report-watch.ts";

type State = MessageInitShape<typeof WatchRolloutResponseSchema>;

/** A report of a thousand resources, of which one has another generation. */
function stateOf(generation: bigint): State {
  const resources = Array.from({ length: 1000 }, (_, index) => ({ namespace: "shop", name: `mail-${index}` }));
  const edited = { namespace: "shop", name: "mail-7", observedGeneration: generation };
  return { rollout: { replica: "cp-0", instance: "process", resources: resources.with(7, edited) } };
}

it("ReportWatch serialises what a resource has that has changed, and nothing of the others", async () => {
  const second = Promise.withResolvers<State>();
  const routes = connectNodeAdapter({
    routes: (router) =>
      router.service(RolloutService, {
        async *watchRollout() {
          yield stateOf(1n);
          yield await second.promise;
        },
      }),
  });
  const server = createServer(routes);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const content = {
    metadata: { labels: { "kubernetes.io/service-name": "control-plane" } },
    ports: [{ name: "ads", port: (server.address() as AddressInfo).port }],
    endpoints: [{ addresses: ["127.0.0.1"], targetRef: { name: "cp-0", uid: "cp-0" } }],
  };
  const slice = { namespace: "weir-system", name: "slice", uid: "slice", resourceVersion: "1", generation: 1, content };
  const watch = new ReportWatch(
    {
      log: silentLog(),
      monotonicMs: () => performance.now(),
      random: () => 0,
      slices: { list: () => [slice], onChange: () => undefined },
      readyPods: { byFleet: () => new Map(), onChange: () => undefined },
    },
    { namespace: "weir-system", service: "control-plane", portName: "ads", serverName: "cp", tls: undefined },
  );
  const changes: (ReadonlySet<string> | undefined)[] = [];
  watch.start();
  watch.onChange((keys) => void changes.push(keys));
  try {
    await eventually("the first report", () => expect(changes).toEqual([undefined]));
    const stringify = vi.spyOn(JSON, "stringify");
    second.resolve(stateOf(2n));
    await eventually("the second report", () => expect(changes.slice(1)).toEqual([new Set(["shop/mail-7"])]));
    expect(stringify.mock.calls.length).toBeLessThan(10);
    stringify.mockRestore();
  } finally {
    await watch.stop();
    server.close();
  }
});
