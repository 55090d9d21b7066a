// The program behind `make bench-account`: measures speed and memory of the account service, and prints
// each figure with its bar. docs/account.md has its results.
import { runMeasures } from "../run-measures.ts";
import { MEASURES } from "./measures.ts";
import type { AccountPlace } from "./service.ts";

runMeasures<AccountPlace>({
  name: "make bench-account",
  summary: "Measures how many calls the account service answers, how fast, and what memory it takes.",
  workspace: "account",
  measures: MEASURES,
  begin: (bench) => Promise.resolve((_, root) => Promise.resolve({ ...bench, root })),
});
