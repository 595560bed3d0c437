/** Prices: decimal strings of USD per million tokens in the configuration, per token in the catalogue. Never floats. */

/** Twelve decimals are the most that the configuration takes. */
const decimals = 12;
/** A million. */
const shift = 6;

/** In units of 10^-12 USD per million tokens; exact, so that prices can be compared. */
export function units(price: string): bigint {
  const [whole = "0", fraction = ""] = price.split(".");
  return BigInt(whole + fraction.padEnd(decimals, "0"));
}

/** "0.25" a million is "0.00000025" a token. */
export function perToken(price: string): string {
  const digits = units(price)
    .toString()
    .padStart(decimals + shift + 1, "0");
  const at = digits.length - decimals - shift;
  const fraction = digits.slice(at).replace(/0+$/, "");
  return fraction === "" ? digits.slice(0, at) : `${digits.slice(0, at)}.${fraction}`;
}
