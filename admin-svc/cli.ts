/** The command line: noun, then verb. Works on the store directly, in the same transactions as the service. */
import type { Kysely } from "kysely";
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { audit } from "./cli/audit.ts";
import { authorIn, takeWorkspace } from "./cli/author.ts";
import { bootstrap } from "./cli/bootstrap.ts";
import { type Command, CommandError, type Commands, type Terminal, UsageError } from "./cli/command.ts";
import { endUsers } from "./cli/end-users.ts";
import { guardrails } from "./cli/guardrails.ts";
import { keys } from "./cli/keys.ts";
import { ledger } from "./cli/ledger.ts";
import { schema } from "./cli/schema.ts";
import { retention } from "./cli/retention.ts";
import { usage } from "./cli/usage.ts";
import { workspaces } from "./cli/workspaces.ts";
import { isDatabaseUrl, noDatabaseUrl } from "./config.ts";
import { NewerSchemaError, migrate } from "./migrations/migrate.ts";
import { AccountError } from "./store/account.ts";
import type { Database } from "./store/database.ts";
import { isOutage, outageText, reasonOf } from "./store/failure.ts";
import { cliLimits, openDatabase } from "./store/postgres.ts";

const nouns: Readonly<Record<string, Commands>> = {
  keys,
  guardrails,
  "end-users": endUsers,
  usage,
  workspaces,
  ledger,
  audit,
  retention,
  schema,
};

/** Of a single word. */
const actions: Readonly<Record<string, Command>> = { bootstrap };

interface Output {
  write(text: string): unknown;
}

export interface CliOptions {
  /** Absent: only commands that need no database can run. */
  readonly databaseUrl?: string | undefined;
  /** For the first start; absent when the operator chose none. */
  readonly managementKey?: string | undefined;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Exit code: 0 done, 1 it could not be done, 2 the command line is wrong. */
export async function runCli(
  argv: readonly string[],
  { databaseUrl, managementKey, stdout, stderr }: CliOptions,
): Promise<number> {
  let opened: Promise<Kysely<Database>> | undefined;
  try {
    const { workspace, rest } = takeWorkspace(argv);
    const terminal: Terminal = {
      database: () => (opened ??= open(databaseUrl)),
      author: async () => authorIn(await terminal.database(), workspace),
      managementKey: managementKey === "" ? undefined : managementKey,
      print: (line) => void stdout.write(`${line}\n`),
    };
    await dispatch(rest, terminal);
    return 0;
  } catch (error) {
    const { message, code } = explain(error);
    stderr.write(`${message}\n`);
    return code;
  } finally {
    await opened?.then(
      (database) => database.destroy(),
      () => {},
    );
  }
}

async function open(databaseUrl: string | undefined): Promise<Kysely<Database>> {
  if (databaseUrl === undefined || databaseUrl === "") throw new CommandError("DATABASE_URL is not set");
  if (!isDatabaseUrl(databaseUrl)) throw new CommandError(`DATABASE_URL: ${noDatabaseUrl}`);
  const database = openDatabase(databaseUrl, cliLimits, () => {});
  try {
    await migrate(database);
    return database;
  } catch (error) {
    await database.destroy();
    throw error;
  }
}

async function dispatch(argv: readonly string[], terminal: Terminal): Promise<void> {
  const [noun, verb, ...args] = argv;
  if (noun === undefined) throw new UsageError(help().join("\n"));
  if (isHelp(noun)) return help().forEach(terminal.print);
  const action = Object.hasOwn(actions, noun) ? actions[noun] : undefined;
  if (action) return perform(noun, action, argv.slice(1), terminal);
  const commands = Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  if (!commands) {
    throw new UsageError(`unknown noun: ${noun}; one of ${Object.keys({ ...nouns, ...actions }).join(", ")}`);
  }
  if (verb === undefined) throw new UsageError(helpOfNoun(noun, commands).join("\n"));
  if (isHelp(verb)) return helpOfNoun(noun, commands).forEach(terminal.print);
  const command = Object.hasOwn(commands, verb) ? commands[verb] : undefined;
  if (!command) throw new UsageError(`unknown verb: ${noun} ${verb}; one of ${Object.keys(commands).join(", ")}`);
  return perform(`${noun} ${verb}`, command, args, terminal);
}

async function perform(name: string, command: Command, args: string[], terminal: Terminal): Promise<void> {
  if (beforeDashes(args).some(isHelp)) return helpOfCommand(name, command).forEach(terminal.print);
  try {
    await command.run(args, terminal);
  } catch (error) {
    if (!isUsage(error)) throw error;
    throw new UsageError(`${error.message}\nusage: ${name} ${command.usage}`, { cause: error });
  }
}

const isHelp = (argument: string): boolean => argument === "--help" || argument === "-h";

const beforeDashes = (args: readonly string[]): readonly string[] =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args;

const help = (): string[] => [
  "usage: admin NOUN VERB ... [--workspace NAME] | admin NOUN --help | admin NOUN VERB --help",
  ...Object.entries(nouns).map(([noun, commands]) => `  ${noun.padEnd(12)}${Object.keys(commands).join(", ")}`),
  ...Object.entries(actions).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`),
];

const helpOfNoun = (noun: string, commands: Commands): string[] => [
  `usage: admin ${noun} VERB ...`,
  ...Object.entries(commands).map(([verb, { summary }]) => `  ${verb.padEnd(12)}${summary}`),
];

const helpOfCommand = (name: string, { usage, summary, details }: Command): string[] => [
  `usage: admin ${name} ${usage}`,
  summary,
  ...(details ?? []),
];

/** Ours, or one of node:util parseArgs. */
function isUsage(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  const coded = typeof error === "object" && error !== null && "code" in error;
  return coded && String(error.code).startsWith("ERR_PARSE_ARGS");
}

/** Never a stack: what is unexpected is named by its message alone. */
function explain(error: unknown): { message: string; code: number } {
  if (isUsage(error)) return { message: error.message, code: 2 };
  if (error instanceof CommandError || error instanceof NewerSchemaError) return { message: error.message, code: 1 };
  if (error instanceof AccountError) {
    return { message: "what holds for the whole account is of the default workspace: leave out --workspace", code: 1 };
  }
  if (isOutage(error)) return { message: outageText(error), code: 1 };
  return { message: `failed: ${reasonOf(error)}`, code: 1 };
}

const script = process.argv[1];
if (script !== undefined && existsSync(script) && realpathSync(script) === fileURLToPath(import.meta.url)) {
  const { DATABASE_URL: databaseUrl, SLUICE_BOOTSTRAP_MANAGEMENT_KEY: managementKey } = process.env;
  const { stdout, stderr } = process;
  // Whoever reads along may leave, as `head` does.
  stdout.on("error", () => process.exit());
  process.exitCode = await runCli(process.argv.slice(2), { databaseUrl, managementKey, stdout, stderr });
}
