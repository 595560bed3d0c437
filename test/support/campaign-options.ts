/** The command line of a campaign: mostly whole numbers by name. */
import { parseArgs } from "node:util";

export interface Range {
  /** When it is absent. */
  readonly usual: number;
  readonly least: number;
  readonly most: number;
}

/** @throws with the usage, for what is no option or no number of its range: a campaign of nothing would find nothing wrong */
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
    const numbers = names.map((name) => [name, numberIn(name, ranges[name], values[name])]);
    return Object.fromEntries(numbers) as Record<Name, number>;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}

/** @throws for what is no whole number of the range */
export function numberIn(name: string, { usual, least, most }: Range, text: string | boolean | undefined): number {
  const value = text === undefined ? usual : Number(text);
  if (text !== "" && Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Error(`--${name} is to be a whole number from ${least} to ${most}`);
}

/** Of this process, which ends with exit code 2 where they cannot be. */
export const numbersGiven = <Name extends string>(
  command: string,
  ranges: Readonly<Record<Name, Range>>,
): Readonly<Record<Name, number>> => readOrEnd(() => readNumbers(command, ranges, process.argv.slice(2)));

/** What `read` makes of the command line of this process, which ends with exit code 2 and without a stack where that throws. */
export function readOrEnd<Options>(read: () => Options, usage?: string): Options {
  try {
    return read();
  } catch (error) {
    console.error([(error as Error).message, usage ?? []].flat().join("\n"));
    process.exit(2);
  }
}
