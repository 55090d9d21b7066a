// compose.yaml: the parts that no container of images.soak.test.ts shows.
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ROOT } from "@weir/harness/processes/programs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

describe("compose.yaml", () => {
  const { services } = parse(read("compose.yaml"), { merge: true }) as {
    readonly services: Readonly<
      Record<
        string,
        {
          readonly image: string;
          readonly build?: { readonly target: string };
          readonly read_only?: boolean;
          readonly volumes?: readonly string[];
          readonly ports?: readonly string[];
        }
      >
    >;
  };

  it.each(Object.entries(services))(
    "%s has an exact image, a root that is read-only, and listens on this machine only",
    (_, { image, build, read_only, volumes = [], ports = [] }) => {
      expect(image).toMatch(/^(docker\.io|ghcr\.io)\/.+:.*(\d|local)/);
      if (build !== undefined) expect(read("Dockerfile")).toContain(` AS ${build.target}\n`);
      expect(read_only).toBe(true);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
      for (const volume of volumes.filter((one) => one.startsWith("."))) expect(volume).toMatch(/:ro$/);
    },
  );

  it("gives Grafana dashboards, where its provisioning looks for them, and a source of their type", () => {
    const files = new Map(
      services["grafana"]!.volumes!.map((volume) => volume.split(":").slice(0, 2).toReversed()) as [string, string][],
    );
    const provisioning = "/etc/grafana/provisioning";
    const { providers } = parse(read(files.get(`${provisioning}/dashboards/weir.yaml`)!)) as {
      readonly providers: readonly [{ readonly type: string; readonly options: { readonly path: string } }];
    };
    const { datasources } = parse(read(files.get(`${provisioning}/datasources/weir.yaml`)!)) as {
      readonly datasources: readonly [{ readonly type: string; readonly url: string }];
    };
    expect(providers).toMatchObject([{ type: "file" }]);
    const dashboards = [...files].filter(([target]) => dirname(target) === providers[0].options.path);
    expect(dashboards.map(([target]) => basename(target))).toEqual(["control-plane.json", "rate-limits.json"]);
    for (const [target, source] of dashboards) {
      const { templating } = JSON.parse(read(source)) as { readonly templating: { readonly list: unknown[] } };
      expect(templating.list, target).toContainEqual(
        expect.objectContaining({ type: "datasource", query: datasources[0].type }),
      );
    }
    expect(new URL(datasources[0].url).hostname in services).toBe(true);
  });
});

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}
