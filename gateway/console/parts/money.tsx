/** A rounded amount, with all digits in its tooltip. */
import { formatDollars, formatExactDollars } from "./words.ts";

/** @param of USD; a decimal string if the API returns one, to keep all digits */
export const Money = ({ of: amount }: { of: number | string }) => (
  <span title={formatExactDollars(amount)}>{formatDollars(Number(amount))}</span>
);
