/** The command line of a campaign, whose options are mostly whole numbers. */
import { parseArgs } from "node:util";

export interface Range {
  /** Value of an absent option. */
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

/** @throws with the usage for an unknown option, and for a number outside of its range: a campaign of nothing would find nothing */
export function readNumbers<Name extends string>(
  command: string,
  ranges: Readonly<Record<Name, Range>>,
  args: readonly string[],
): Readonly<Record<Name, number>> {
  const names = Object.keys(ranges) as Name[];
  const usage = `usage: npm run ${command} --${names.map((name) => ` [--${name} N]`).join("")}`;
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
    const { values } = parseArgs({ args: [...args], options });
    const numbers = names.map((name) => [name, parseNumber(name, ranges[name], values[name])]);
    return Object.fromEntries(numbers) as Record<Name, number>;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}

/** @throws unless the text is a whole number within the range */
export function parseNumber(
  name: string,
  { default: absent, min, max }: Range,
  text: string | boolean | undefined,
): number {
  const value = text === undefined ? absent : Number(text);
  if (text !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`--${name} must be a whole number from ${min} to ${max}`);
}

/** Reads the command line of this process. For an invalid one, the process exits with code 2. */
export const readNumbersOrExit = <Name extends string>(
  command: string,
  ranges: Readonly<Record<Name, Range>>,
): Readonly<Record<Name, number>> => readOrExit(() => readNumbers(command, ranges, process.argv.slice(2)));

/** Calls `read`. If it throws, the process prints the message without a stack, and exits with code 2. */
export function readOrExit<Options>(read: () => Options, usage?: string): Options {
  try {
    return read();
  } catch (error) {
    console.error([(error as Error).message, usage ?? []].flat().join("\n"));
    process.exit(2);
  }
}
