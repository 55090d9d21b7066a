// Starts a program in its own process group, as the local stack does, and binds it to the test.
import { type ProcessGroup, type ProcessOptions, startProcess as start } from "@weir/dev/processes/process-group";
import { boundCommand } from "./bound-command.ts";

/** Starts it. It ends with this process, however that ends. */
export function startProcess(options: ProcessOptions): Promise<ProcessGroup> {
  const [command, args] = boundCommand(options.command, options.args);
  return start({ ...options, command, args });
}
