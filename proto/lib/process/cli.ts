/** Framework of the command line: commands, their arguments and help, tables, and exit codes. */
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nearestWord } from "../validation/edit-distance.ts";
import { fitTable } from "./table.ts";
import { version } from "./version.ts";

/** Error for a wrong command line; the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Error for a failed command; the exit code is 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

export interface Terminal {
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
  /** Width of the terminal in characters; undefined when the output goes to a file or a pipe. */
  readonly columns?: number | undefined;
}

export interface Command<Context extends Terminal = Terminal> {
  /** Arguments and options of the command, for the help. */
  readonly usage: string;
  /** A sentence that the help shows for the command. */
  readonly summary: string;
  /** Further lines of help. */
  readonly details?: readonly string[];
  /** Resolves to the exit code; undefined means 0. @throws UsageError, CommandError */
  readonly run: (args: string[], terminal: Context) => Promise<number | void>;
}

export interface Output {
  write(text: string): unknown;
  /** Width of the terminal in characters. */
  readonly columns?: number | undefined;
}

const beforeDashes = (args: readonly string[]): readonly string[] =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args;

export const isHelp = (argument: string | undefined): boolean => argument === "--help" || argument === "-h";

/** Whether a command line only asks for the version of Sluice. */
export const isVersion = ([first]: readonly string[]): boolean => first === "--version";

export function printVersion(print: Terminal["print"]): 0 {
  print(version);
  return 0;
}

/** Runs a command or prints its help, and resolves to the exit code. @throws UsageError whose text ends with the usage of the command */
export async function runCommand<Context extends Terminal>(
  name: string,
  command: Command<Context>,
  args: string[],
  terminal: Context,
): Promise<number> {
  const usage = `usage: ${name} ${command.usage}`.trimEnd();
  if (beforeDashes(args).some(isHelp)) {
    [usage, command.summary, ...(command.details ?? [])].forEach(terminal.print);
    return 0;
  }
  columns = terminal.columns ?? Infinity;
  try {
    return (await command.run(args, terminal)) ?? 0;
  } catch (error) {
    if (!isUsageError(error)) throw error;
    throw new UsageError(`${error.message}\n${usage}`, { cause: error });
  }
}

/** Whether an error is a UsageError, or one of Node's `parseArgs`. */
export function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  const coded = typeof error === "object" && error !== null && "code" in error;
  return coded && String(error.code).startsWith("ERR_PARSE_ARGS");
}

type Options = Readonly<Record<string, { readonly type: "boolean" | "string" }>>;

/** Values of the options, by their names. */
type Values<Given extends Options> = {
  readonly [Name in keyof Given]?: Given[Name]["type"] extends "boolean" ? boolean : string;
};

/** The error for an unknown word on a command line, with the word that was probably meant, or else all known words. */
export function unknownWord(what: string, word: string, known: readonly string[]): UsageError {
  const nearest = nearestWord(word, known, Math.max(1, Math.floor(word.length / 3)));
  const remedy = nearest === undefined ? `one of ${known.join(", ")}` : `did you mean ${nearest}?`;
  return new UsageError(`${what}; ${remedy}`);
}

/**
 * Parses options and positional arguments. @param names of the required positional arguments. @throws UsageError when
 * there are fewer or more
 */
export function readArguments<Given extends Options, Name extends string>(
  args: string[],
  options: Given,
  ...names: Name[]
): { values: Values<Given>; named: Record<Name, string> } {
  const { values, positionals } = parseOptions(args, options);
  return { values, named: namedArguments(positionals, ...names) };
}

/** @throws UsageError, or the error of Node.js, which names the option */
function parseOptions<Given extends Options>(args: string[], options: Given) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const option = /'(--?[^\s',]+)/.exec(message)?.[1];
    if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION" || option === undefined) throw error;
    const known = Object.keys(options).map((name) => `--${name}`);
    throw unknownWord(`unknown option: ${option}`, option, known);
  }
}

/** Positional arguments by their names. @throws UsageError when there are fewer or more */
export function namedArguments<Name extends string>(given: readonly string[], ...names: Name[]): Record<Name, string> {
  const extra = given[names.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument: ${extra}`);
  const missing = names[given.length];
  if (missing !== undefined) throw new UsageError(`missing argument: ${missing}`);
  return Object.fromEntries(names.map((name, index) => [name, given[index]])) as Record<Name, string>;
}

/** @throws UsageError when the option is absent */
export function requiredOption(option: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`missing option: ${option}`);
  return value;
}

/** Escapes control characters and other invisible characters, so a name cannot control the terminal. */
export const escapeUnprintable = (text: string): string =>
  text.replace(/[\p{Control}\p{Format}\p{Surrogate}\p{Line_Separator}\p{Paragraph_Separator}]/gu, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u{${codePoint.toString(16)}}`;
  });

/** Width of the terminal of the running command; a process runs only one. */
let columns = Infinity;

/** Formats lines of aligned columns under their titles, at most as wide as the terminal. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  fitTable(
    titles,
    rows.map((row) => row.map(escapeUnprintable)),
    columns,
  );

/**
 * Runs a command line if the module was started as a program instead of being imported, and exits with its exit code.
 */
export async function runAsProgram(moduleUrl: string, run: (argv: string[]) => Promise<number>): Promise<void> {
  const script = process.argv[1];
  if (script === undefined || !existsSync(script) || realpathSync(script) !== fileURLToPath(moduleUrl)) return;
  // A reader such as `head` may close the pipe early, which is no error.
  process.stdout.on("error", () => process.exit());
  process.exitCode = await run(process.argv.slice(2));
}
