/**
 * The command line: `sluice` of the package, `npm run admin` of a checkout. It starts and examines the Sluice of this machine itself. Other commands
 * go to admin-svc, which works on the database of the running Sluice or on the one in DATABASE_URL, or to the checks of inference-svc, which need no
 * database. Each command loads only its own program.
 */
import {
  type Command,
  CommandError,
  isHelp,
  isUsageError,
  readArguments,
  runCommand,
} from "@sluice/proto/lib/process/cli.js";
import { version } from "@sluice/proto/lib/process/version.js";
import { join } from "node:path";
import { readJson } from "./files.ts";
import { spoolsIn } from "./spools.ts";
import { configPath, dataPath, packagesPath, program } from "./places.ts";

/** Commands about the Sluice of this machine. */
const own: Readonly<Record<string, Command>> = {
  start: {
    usage: "",
    summary: "Starts Postgres and the services, and prints the address, the keys and a first request.",
    details: [
      "Ctrl-C stops them. Variables of the environment change ports, folders and more: docs/reference/variables.md.",
    ],
    async run(args) {
      readArguments(args, {});
      stopWithNpx();
      await import("./main.ts");
    },
  },
  backup: {
    usage: "FILE",
    summary: "Writes the database that Sluice runs here into a file, also while it serves.",
    details: [
      "The file has what the database has: hashes of keys, sealed keys of providers, names of end users. SLUICE_SECRET is not in it: keep secrets.json with it.",
    ],
    async run(args, { print }) {
      const { FILE: file } = readArguments(args, {}, "FILE").named;
      const { backUpDatabase } = await import("./database-archive.ts");
      const bytes = await backUpDatabase(ownDatabase(), file);
      print(`the database is in ${file} (${(bytes / 1e6).toFixed(1)} MB)`);
    },
  },
  restore: {
    usage: "FILE",
    summary: "Puts the database of a backup in the place of the present one, while Sluice does not run.",
    details: [
      "The present one stays in a folder beside it. After the next start, `ledger replay` stores the turns of after the backup.",
    ],
    async run(args, { print }) {
      const { FILE: file } = readArguments(args, {}, "FILE").named;
      const { restoreDatabase } = await import("./database-archive.ts");
      const before = await restoreDatabase(ownDatabase(), file);
      print(`the database is that of ${file}${before === undefined ? "" : `; the one of before is in ${before}`}`);
      print(`now start Sluice (${program.start}), and run: ${program.call} ledger replay`);
    },
  },
  doctor: {
    usage: "[--json]",
    summary:
      "Examines this machine, the configuration and the running services, and says what to do about each finding.",
    details: ["Exit code 1 when Sluice cannot start here, or does not answer."],
    async run(args, { print }) {
      const { values } = readArguments(args, { json: { type: "boolean" } });
      const { examine } = await import("./doctor/examine.ts");
      const { toLines } = await import("./doctor/findings.ts");
      const findings = await examine(process.env);
      for (const line of values.json === true ? [JSON.stringify(findings)] : toLines(findings)) print(line);
      return findings.some(({ state }) => state === "failed") ? 1 : 0;
    },
  },
};

/** @returns the data folder of the database that Sluice itself runs @throws CommandError if DATABASE_URL names another database */
function ownDatabase(): string {
  if (process.env["DATABASE_URL"]) {
    throw new CommandError("DATABASE_URL names a database that Sluice does not run: use pg_dump and pg_restore");
  }
  return dataPath(process.env["SLUICE_DATA_DIR"]);
}

/** Names of the commands for the Sluice of this machine. */
export const ownCommands: readonly string[] = Object.keys(own);

/** Stops Sluice when npx ends: npx does not pass signals on, but ends together with its shell. */
function stopWithNpx(): void {
  if (process.env["npm_command"] !== "exec") return;
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, 200);
  watch.unref();
}

/** Commands run by inference-svc. */
const checks = ["check-config", "test-provider"];

const { stdout, stderr } = process;
const print = (line: string) => void stdout.write(`${line}\n`);

/** Runs a command and sets the exit code: 0 success, 1 failure, 2 wrong command line. */
export async function runCommandLine(given: readonly string[]): Promise<void> {
  // A reader such as `head` may close the pipe before everything is written.
  stdout.on("error", () => process.exit());
  // `help keys create` means `keys create --help`.
  const argv = given[0] === "help" ? [...given.slice(1), "--help"] : given;
  try {
    const code = await dispatch(argv);
    if (code !== 0) process.exitCode = code;
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = isUsageError(error) ? 2 : 1;
  }
}

async function dispatch(argv: readonly string[]): Promise<number> {
  const [name = "", ...args] = argv;
  const command = Object.hasOwn(own, name) ? own[name] : undefined;
  if (command) return runCommand(`${program.name} ${name}`, command, args, { print });
  if (name === "--version") {
    print(version);
    return 0;
  }
  return checks.includes(name) ? runCheck(argv) : runAdmin(argv);
}

async function runCheck(argv: readonly string[]): Promise<number> {
  const { runOperator } = await import("@sluice/inference-svc/assembly/operator.js");
  const config = configPath(process.env["SLUICE_CONFIG"]);
  const environment = { ...process.env, SLUICE_PACKAGES_DIR: packagesPath(process.env) };
  return runOperator(argv, { environment, config, stdout, stderr });
}

async function runAdmin(argv: readonly string[]): Promise<number> {
  const { profilesIn, remoteIn, runCli } = await import("@sluice/admin-svc/cli.js");
  const dataDir = dataPath(process.env["SLUICE_DATA_DIR"]);
  const record = readJson(join(dataDir, "database.json")) as { readonly url: string } | undefined;
  const code = await runCli(argv, {
    databaseUrl: process.env["DATABASE_URL"] || record?.url,
    noDatabase: `Sluice does not run in ${dataDir}: start it first (${program.start}), or set SLUICE_DATA_DIR or DATABASE_URL.`,
    program: { name: program.name, further: [...ownCommands, ...checks, "help"] },
    managementKey: process.env["SLUICE_BOOTSTRAP_MANAGEMENT_KEY"],
    spoolDirectory: spoolsIn(dataDir),
    remote: remoteIn(process.env),
    profiles: profilesIn(process.env, process.stdin),
    stdout,
    stderr,
  });
  if (argv.length === 0 || isHelp(argv[0])) await printFurtherHelp(argv.length === 0 ? stderr : stdout);
  return code;
}

async function printFurtherHelp(output: NodeJS.WriteStream): Promise<void> {
  const { operatorHelp } = await import("@sluice/inference-svc/assembly/operator.js");
  const lines = Object.entries(own).map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`);
  output.write(`${[...lines, ...operatorHelp()].join("\n")}\n`);
}
