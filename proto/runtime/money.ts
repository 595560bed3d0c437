/** Money is counted in 10^-12 USD as whole numbers; only what is shown is a float. */

const picoPerDollar = 1e12;

/** The nearest float of an amount in 10^-12 USD; exact in its decimals below some thousand dollars. */
export const dollars = (pico: bigint): number => Number(pico) / picoPerDollar;

/** The same, exactly, as a decimal with at most twelve places. */
export function decimal(pico: bigint): string {
  const digits = pico.toString().padStart(13, "0");
  const places = digits.slice(-12).replace(/0+$/, "");
  return `${digits.slice(0, -12)}${places === "" ? "" : `.${places}`}`;
}

/** The amount of such a decimal, in 10^-12 USD. */
export function pico(text: string): bigint {
  const [dollars = "0", places = ""] = text.split(".");
  return BigInt(dollars + places.slice(0, 12).padEnd(12, "0"));
}

/** The same of an amount that was given as a number of USD. */
export const decimalOf = (dollars: number): string => dollars.toFixed(12).replace(/\.?0+$/, "");
