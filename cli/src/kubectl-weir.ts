// The program `kubectl-weir`, which kubectl runs as `kubectl weir`.
import { runWeir } from "./weir.ts";

runWeir("kubectl weir");
