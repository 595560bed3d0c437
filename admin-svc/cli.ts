/** The command line of admin-svc: noun, then verb. It works on the database directly, in the same transactions as the service. */
import {
  CommandError,
  type Output,
  UsageError,
  isHelp,
  isUsageError,
  isVersion,
  printVersion,
  runAsProgram,
  runCommand,
  unknownWord,
} from "@sluice/proto/lib/process/cli.js";
import type { Kysely } from "kysely";
import { alertRules } from "./cli/alert-rules.ts";
import { alerts } from "./cli/alerts.ts";
import { audit } from "./cli/audit.ts";
import { bootstrap } from "./cli/bootstrap.ts";
import { calls } from "./cli/calls.ts";
import { completionCommand } from "./cli/completion.ts";
import { demo } from "./cli/demo.ts";
import { endUsers } from "./cli/end-users.ts";
import { guardrails } from "./cli/guardrails.ts";
import { imports } from "./cli/import.ts";
import { keys } from "./cli/keys.ts";
import { ledger } from "./cli/ledger.ts";
import { profileCommands } from "./cli/profiles.ts";
import { providers } from "./cli/providers.ts";
import { retention } from "./cli/retention.ts";
import { schema } from "./cli/schema.ts";
import type { RemoteOptions } from "./cli/remote/client.ts";
import { type ChosenRemote, chooseRemote, placeCommand } from "./cli/remote/dispatch.ts";
import { Profiles, profilesFolder } from "./cli/remote/profiles.ts";
import { type SecretInput, readSecretLine } from "./cli/secret-line.ts";
import { type AdminTerminal, type Commands, type Program, findAuthor, takeOption } from "./cli/terminal.ts";
import { sessions } from "./cli/sessions.ts";
import { usage } from "./cli/usage.ts";
import { views } from "./cli/views.ts";
import { workspaces } from "./cli/workspaces.ts";
import { isDatabaseUrl, noDatabaseUrl } from "./config.ts";
import { ConfigError } from "@sluice/proto/lib/process/environment.js";
import { NewerSchemaError, migrate } from "./store/postgres/migrate.ts";
import { AccountError } from "./store/account.ts";
import type { Database } from "./store/database.ts";
import { isOutage, outageText, errorReason } from "./store/postgres/failure.ts";
import { commandConnectionLimits, openDatabase } from "./store/postgres/postgres.ts";
import { requireSessions } from "./store/postgres/sessions.ts";

const nouns: Readonly<Record<string, Commands>> = {
  keys,
  guardrails,
  "end-users": endUsers,
  calls,
  usage,
  sessions,
  workspaces,
  views,
  providers,
  ledger,
  audit,
  alerts,
  "alert-rules": alertRules,
  retention,
  schema,
  import: imports,
};

/** Single-word commands. */
const withOptions: Commands = { bootstrap, demo, ...profileCommands };
const actions: Commands = { ...withOptions, completion: completionCommand(nouns, withOptions) };

export interface CliOptions {
  /** When absent, only commands without a database can run. */
  readonly databaseUrl?: string | undefined;
  /** The remedy for an absent database, as a sentence. */
  readonly noDatabase?: string | undefined;
  readonly program?: Program | undefined;
  /** Management key for the first start; absent when the operator chose none. */
  readonly managementKey?: string | undefined;
  /** Folder with the records of the processes of this machine, for `ledger replay`. */
  readonly spoolDirectory?: string | undefined;
  /** Another Sluice installation, reached over HTTP; absent when commands use the database directly. */
  readonly remote?: RemoteOptions | undefined;
  /** Installations kept by `login`. */
  readonly profiles?: ProfileOptions | undefined;
  readonly stdout: Output;
  readonly stderr: Output;
}

export interface ProfileOptions {
  /** Folder of the profiles; undefined for a user without a folder. */
  readonly folder: string | undefined;
  /** Value of the variable SLUICE_PROFILE. */
  readonly profile: string | undefined;
  /** Value of SLUICE_MANAGEMENT_KEY: the key that `login` stores when the user types none. */
  readonly key: string | undefined;
  /** Input from which `login` reads the key. */
  readonly stdin: SecretInput;
}

/** Resolves to the exit code: 0 success, 1 failure, 2 wrong command line. */
export async function runCli(argv: readonly string[], options: CliOptions): Promise<number> {
  const { managementKey, remote, profiles: kept, stdout, stderr } = options;
  let opened: Promise<Kysely<Database>> | undefined;
  try {
    const { value: workspace, rest: unplaced } = takeOption("--workspace", argv);
    const { value: named, rest } = takeOption("--profile", unplaced);
    const profiles = new Profiles(kept?.folder);
    const choose = (): ChosenRemote | undefined => {
      const chosen = chooseRemote({ named, remote, profile: kept?.profile || undefined, profiles });
      return chosen && { ...chosen, workspace };
    };
    const terminal: AdminTerminal = {
      database: () => (opened ??= open(options, choose())),
      author: async () => findAuthor(await terminal.database(), workspace),
      program: options.program ?? { name: "admin", further: [] },
      managementKey: managementKey === "" ? undefined : managementKey,
      spoolDirectory: options.spoolDirectory || undefined,
      profiles,
      profile: named,
      readManagementKey: () => readManagementKey(kept, stderr),
      columns: stdout.columns,
      print: (line) => void stdout.write(`${line}\n`),
    };
    return await dispatch(rest, terminal, choose);
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

async function open(
  { databaseUrl, noDatabase = "DATABASE_URL is not set", stderr }: CliOptions,
  remote: ChosenRemote | undefined,
): Promise<Kysely<Database>> {
  if (remote) throw new CommandError(`this works on the database: ${remote.remedy}`);
  if (databaseUrl === undefined || databaseUrl === "") throw new CommandError(noDatabase);
  if (!isDatabaseUrl(databaseUrl)) throw new CommandError(`DATABASE_URL: ${noDatabaseUrl}`);
  const database = openDatabase(databaseUrl, commandConnectionLimits, () => {});
  try {
    await requireSessions(databaseUrl);
    await migrate(database, {
      info: () => {},
      warn: (wait, text) => void stderr.write(`${text}: ${wait.seconds} s for ${wait.for}\n`),
    });
    return database;
  } catch (error) {
    await database.destroy();
    throw error;
  }
}

async function dispatch(
  argv: readonly string[],
  terminal: AdminTerminal,
  choose: () => ChosenRemote | undefined,
): Promise<number> {
  const placed = (name: string, command: Commands[string]) => placeCommand(name, command, choose);
  const [noun, verb, ...args] = argv;
  const { name, further } = terminal.program;
  if (noun === undefined) throw new UsageError(help(name).join("\n"));
  if (isVersion(argv)) return printVersion(terminal.print);
  if (isHelp(noun)) return printHelp(help(name), terminal);
  const action = Object.hasOwn(actions, noun) ? actions[noun] : undefined;
  if (action) return runCommand(`${name} ${noun}`, placed(noun, action), argv.slice(1), terminal);
  const commands = Object.hasOwn(nouns, noun) ? nouns[noun] : undefined;
  if (!commands)
    throw unknownWord(`unknown noun: ${noun}`, noun, Object.keys({ ...nouns, ...actions }).concat(further));
  if (verb === undefined) throw new UsageError(helpOfNoun(`${name} ${noun}`, commands).join("\n"));
  if (isHelp(verb)) return printHelp(helpOfNoun(`${name} ${noun}`, commands), terminal);
  const command = Object.hasOwn(commands, verb) ? commands[verb] : undefined;
  if (!command) throw unknownWord(`unknown verb: ${noun} ${verb}`, verb, Object.keys(commands));
  return runCommand(`${name} ${noun} ${verb}`, placed(`${noun} ${verb}`, command), args, terminal);
}

function printHelp(lines: readonly string[], { print }: AdminTerminal): 0 {
  lines.forEach(print);
  return 0;
}

const help = (name: string): string[] => [
  `usage: ${name} NOUN VERB ... [--workspace NAME] [--profile NAME] | ${name} NOUN --help | ${name} NOUN VERB --help | ${name} --version`,
  ...Object.entries(nouns).map(([noun, commands]) => `  ${noun.padEnd(12)}${Object.keys(commands).join(", ")}`),
  ...Object.entries(actions).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`),
];

const helpOfNoun = (name: string, commands: Commands): string[] => [
  `usage: ${name} VERB ...`,
  ...Object.entries(commands).map(([verb, { summary }]) => `  ${verb.padEnd(12)}${summary}`),
];

/** The Sluice installation named by the environment instead of a database. */
export function remoteIn({
  SLUICE_URL: url,
  SLUICE_MANAGEMENT_KEY: key,
}: NodeJS.ProcessEnv): RemoteOptions | undefined {
  return url === undefined || url === "" ? undefined : { url, key };
}

/**
 * The typed key takes precedence over SLUICE_MANAGEMENT_KEY, which may belong to another installation. @throws
 * CommandError when neither is given
 */
async function readManagementKey(kept: ProfileOptions | undefined, stderr: Output): Promise<string> {
  const key = (await readSecretLine("management key: ", kept?.stdin, stderr)) || kept?.key;
  if (!key) throw new CommandError("no key was given: type it, or set SLUICE_MANAGEMENT_KEY");
  return key;
}

/** The profiles of the user in this environment. */
export const profilesIn = (environment: NodeJS.ProcessEnv, stdin: SecretInput): ProfileOptions => ({
  folder: profilesFolder(environment),
  profile: environment["SLUICE_PROFILE"],
  key: environment["SLUICE_MANAGEMENT_KEY"],
  stdin,
});

/** The error text for a user: of an unexpected error only its message, never a stack trace. */
function explain(error: unknown): { message: string; code: number } {
  if (isUsageError(error)) return { message: error.message, code: 2 };
  if (error instanceof CommandError || error instanceof ConfigError || error instanceof NewerSchemaError)
    return { message: error.message, code: 1 };
  if (error instanceof AccountError) {
    return { message: "records of the whole account belong to the default workspace: leave out --workspace", code: 1 };
  }
  if (isOutage(error)) return { message: outageText(error), code: 1 };
  return { message: `failed: ${errorReason(error)}`, code: 1 };
}

await runAsProgram(import.meta.url, (argv) => {
  const {
    DATABASE_URL: databaseUrl,
    SLUICE_BOOTSTRAP_MANAGEMENT_KEY: managementKey,
    SLUICE_SPOOL_DIR: spoolDirectory,
  } = process.env;
  const { stdin, stdout, stderr } = process;
  const profiles = profilesIn(process.env, stdin);
  const remote = remoteIn(process.env);
  return runCli(argv, { databaseUrl, managementKey, spoolDirectory, remote, profiles, stdout, stderr });
});
