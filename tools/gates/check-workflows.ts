// The gate `workflows`: keys, expressions, events and inputs in .github that GitHub does not know, found by actionlint.
import { runCommand } from "../run-command.ts";
import { setUpActionlint, SetupError } from "../test/test-setup.ts";

try {
  const actionlint = await setUpActionlint(console.error);
  // Without programs that may not be there: their findings would depend on the machine.
  const { code } = await runCommand([actionlint, "-shellcheck=", "-pyflakes=", ...process.argv.slice(2)], {
    output: "pass",
  });
  process.exitCode = code;
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(
    `Cannot check the workflows without actionlint, which this gate builds once with Go 1.21 or newer from the PATH, or else with Go from PyPI. ${error.message}`,
  );
  process.exitCode = 1;
}
