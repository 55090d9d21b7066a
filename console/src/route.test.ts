import { describe, expect, it } from "vitest";

import { commandOf, parseRoute, type Route, routeLink } from "./route.ts";

const HOSTILE = `a/b?c#d%41 "'<>é`;

describe("the views' URLs", () => {
  it.each<{ fragment: string; route: Route | undefined }>([
    { fragment: "", route: { view: "now" } },
    { fragment: "#", route: { view: "now" } },
    { fragment: "#/", route: { view: "now" } },
    { fragment: "#/rollouts", route: { view: "rollouts", filter: "" } },
    { fragment: "#/rollouts?filter=a%2Fb", route: { view: "rollouts", filter: "a/b" } },
    {
      fragment: "#/rule/web/shop/shop.user_%2F",
      route: { view: "rule", rule: { fleet: "web", domain: "shop", path: "shop.user_/" } },
    },
    { fragment: "#/rule/web/shop", route: undefined },
    { fragment: "#/rule/web/shop/", route: undefined },
    { fragment: "#/rule/web/shop/shop.user/more", route: undefined },
    { fragment: "#/rule/web/shop/%", route: undefined },
    { fragment: "#/rollouts/more", route: undefined },
    { fragment: "#/try", route: { view: "try", request: { fleet: "", domain: "", descriptors: [] } } },
    {
      fragment: "#/try?fleet=web&domain=shop&descriptor=a%3Db%2Cc%3D%26&descriptor=d%3De",
      route: { view: "try", request: { fleet: "web", domain: "shop", descriptors: ["a=b,c=&", "d=e"] } },
    },
    { fragment: "#/try/more", route: undefined },
    { fragment: "#/other", route: undefined },
  ])("parseRoute() reads $fragment", ({ fragment, route }) => expect(parseRoute(fragment)).toEqual(route));

  it.each<Route>([
    { view: "now" },
    { view: "rollouts", filter: "" },
    { view: "rollouts", filter: HOSTILE },
    { view: "rule", rule: { fleet: HOSTILE, domain: HOSTILE, path: HOSTILE } },
    { view: "try", request: { fleet: "", domain: "", descriptors: [] } },
    { view: "try", request: { fleet: HOSTILE, domain: HOSTILE, descriptors: [HOSTILE, "", HOSTILE] } },
  ])("routeLink() makes of %j what parseRoute() reads", (route) => expect(parseRoute(routeLink(route))).toEqual(route));

  it.each<{ route: Route; command: string }>([
    { route: { view: "now" }, command: "kubectl weir top" },
    { route: { view: "rollouts", filter: "x" }, command: "kubectl weir rollout" },
    {
      route: { view: "try", request: { fleet: "web", domain: "shop", descriptors: ["user=a b", "path=/"] } },
      command: "kubectl weir explain -A --fleet web --domain shop -d 'user=a b' -d path=/ --counts",
    },
    {
      route: { view: "try", request: { fleet: "", domain: "", descriptors: [] } },
      command: "kubectl weir explain -A",
    },
    {
      route: { view: "rule", rule: { fleet: "web", domain: "shop", path: "shop.user_a b'c" } },
      command: String.raw`kubectl weir top keys --fleet web 'shop.user_a b'\''c'`,
    },
  ])("commandOf() gives $command", ({ route, command }) => expect(commandOf(route)).toBe(command));
});
