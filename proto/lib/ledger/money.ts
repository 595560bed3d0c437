/**
 * Converts amounts of money, which are whole numbers of 10^-12 USD (picodollars). Only displayed amounts are floats.
 */

const picoPerDollar = 1e12;

/** The amount in USD as the nearest float; its decimals are exact below some thousand dollars. */
export const toDollars = (pico: bigint): number => Number(pico) / picoPerDollar;

/** The amount in USD as an exact decimal, with at most twelve places. */
export function toDecimal(pico: bigint): string {
  const digits = pico.toString().padStart(13, "0");
  const places = digits.slice(-12).replace(/0+$/, "");
  return `${digits.slice(0, -12)}${places === "" ? "" : `.${places}`}`;
}

/** Parses the result of `toDecimal` into 10^-12 USD. */
export function parsePico(text: string): bigint {
  const [dollars = "0", places = ""] = text.split(".");
  return BigInt(dollars + places.slice(0, 12).padEnd(12, "0"));
}

/** Formats a number of USD as a decimal. */
export const formatDollars = (dollars: number): string => dollars.toFixed(12).replace(/\.?0+$/, "");
