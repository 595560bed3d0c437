/**
 * The operator's checks, as part of the one command line of the house (npm run admin): what a house file would serve, and whether a provider
 * answers. They are here because the code that they try is; they need neither a running house nor its database.
 */
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { ConfigError } from "@sluice/proto/runtime/config.js";
import { checkConfig } from "./operator/check-config.ts";
import { type Command, CommandError, type Terminal, UsageError } from "./operator/command.ts";
import { testProvider } from "./operator/test-provider.ts";

const commands: Readonly<Record<string, Command>> = { "check-config": checkConfig, "test-provider": testProvider };

interface Output {
  write(text: string): unknown;
}

export interface OperatorOptions extends Pick<Terminal, "environment" | "config"> {
  readonly stdout: Output;
  readonly stderr: Output;
}

const isOperatorCommand = (name: string | undefined): boolean => name !== undefined && Object.hasOwn(commands, name);

/** A line for each command. */
export const operatorHelp = (): string[] => Object.entries(commands).map(([name, { usage }]) => `  ${name} ${usage}`);

/** Exit code: 0 all is well, 1 it is not, 2 the command line is wrong. */
export async function runOperator(argv: readonly string[], options: OperatorOptions): Promise<number> {
  const [name = "", ...args] = argv;
  const { environment, config, stdout, stderr } = options;
  const { version } = createRequire(import.meta.url)("../package.json") as { version: string };
  const print = (line: string) => void stdout.write(`${line}\n`);
  const command = isOperatorCommand(name) ? commands[name] : undefined;
  try {
    if (!command) throw new UsageError(["usage:", ...operatorHelp()].join("\n"));
    if (args.includes("--help") || args.includes("-h")) {
      [`usage: ${name} ${command.usage}`, command.summary].forEach(print);
      return 0;
    }
    return await command.run(args, { environment, config, version, print });
  } catch (error) {
    if (isUsage(error)) {
      stderr.write(`${error.message}\n${command ? `usage: ${name} ${command.usage}\n` : ""}`);
      return 2;
    }
    if (!(error instanceof ConfigError || error instanceof CommandError)) throw error;
    stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** Ours, or one of node:util parseArgs. */
function isUsage(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  const coded = typeof error === "object" && error !== null && "code" in error;
  return coded && String(error.code).startsWith("ERR_PARSE_ARGS");
}

const script = process.argv[1];
if (script !== undefined && existsSync(script) && realpathSync(script) === fileURLToPath(import.meta.url)) {
  const { env: environment, stdout, stderr } = process;
  // Whoever reads along may leave, as `head` does.
  stdout.on("error", () => process.exit());
  const config = environment["SLUICE_CONFIG"] ?? "sluice.yaml";
  process.exitCode = await runOperator(process.argv.slice(2), { environment, config, stdout, stderr });
}
