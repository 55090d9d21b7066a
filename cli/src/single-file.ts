// The program `weir` as one file, with no package.json next to it: the bundler of a release sets the version. It is
// the kubectl plugin if its name is that of one.
import { basename } from "node:path";
import { nodeHost } from "@weir/common/lifecycle/host";

import { runWeir } from "./weir.ts";

declare const WEIR_VERSION: string;

const isPlugin = basename(process.argv0).startsWith("kubectl-weir");
runWeir(isPlugin ? "kubectl weir" : "weir", { ...nodeHost(), version: () => WEIR_VERSION });
