// A few seconds of broken input on every listener; fuzz.soak.test.ts sends more.
import { describeBrokenInput } from "./broken-input.suite.ts";

describeBrokenInput(4_000, 180_000);
