import { describeReflection } from "../reflection/reflection.suite.ts";
import { WEIR } from "./weir-engine.suite.ts";

describeReflection(WEIR);
