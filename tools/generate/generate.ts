// `make generate`: runs every generator, in order, and stops at the first that fails.
import { GENERATORS } from "./generators.ts";
import { runCommand } from "../run-command.ts";

for (const generator of GENERATORS) {
  console.log(`==> Generating ${generator.name}`);
  const { code } = await runCommand(generator.write, { output: "pass" });
  if (code !== 0) {
    console.error(`Cannot generate ${generator.name}: ${generator.write.join(" ")} ended with exit code ${code}`);
    process.exit(1);
  }
}
