/** Amounts of money, as every door gives them: decimals in a text. */

/** A text that is no amount stays one, and is refused as such. */
export const amountOf = (text: string): number | string => (/^\d{1,12}(\.\d{1,12})?$/.test(text) ? Number(text) : text);
