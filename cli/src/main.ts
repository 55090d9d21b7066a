// The program `weir`.
import { runWeir } from "./weir.ts";

runWeir("weir");
