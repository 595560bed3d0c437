/**
 * The operator's commands of `npm run admin` that show what a configuration file would serve and test a provider. They
 * are in this service because they run its code; they need neither running services nor a database.
 */
import {
  CommandError,
  type Output,
  UsageError,
  isUsageError,
  isVersion,
  printVersion,
  runAsProgram,
  runCommand,
} from "@sluice/proto/lib/process/cli.js";
import { ConfigError } from "@sluice/proto/lib/process/environment.js";
import { version } from "@sluice/proto/lib/process/version.js";
import { checkConfig } from "./operator/check-config.ts";
import type { OperatorCommand, OperatorTerminal } from "./operator/configuration.ts";
import { testProvider } from "./operator/test-provider.ts";

const commands: Readonly<Record<string, OperatorCommand>> = {
  "check-config": checkConfig,
  "test-provider": testProvider,
};

export interface OperatorOptions extends Pick<OperatorTerminal, "environment" | "config"> {
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Lines of help, one for each command. */
export const operatorHelp = (): string[] => Object.entries(commands).map(([name, { usage }]) => `  ${name} ${usage}`);

/** Runs a command. Resolves to the exit code: 0 for success, 1 for problems found, 2 for a wrong command line. */
export async function runOperator(argv: readonly string[], options: OperatorOptions): Promise<number> {
  const [name = "", ...args] = argv;
  const { environment, config, stdout, stderr } = options;
  const print = (line: string) => void stdout.write(`${line}\n`);
  if (isVersion(argv)) return printVersion(print);
  try {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!command) throw new UsageError(["usage:", ...operatorHelp()].join("\n"));
    return await runCommand(name, command, args, { environment, config, version, print });
  } catch (error) {
    const isUsage = isUsageError(error);
    if (!(isUsage || error instanceof ConfigError || error instanceof CommandError)) throw error;
    stderr.write(`${error.message}\n`);
    return isUsage ? 2 : 1;
  }
}

await runAsProgram(import.meta.url, (argv) => {
  const { env: environment, stdout, stderr } = process;
  const config = environment["SLUICE_CONFIG"] ?? "sluice.yaml";
  return runOperator(argv, { environment, config, stdout, stderr });
});
