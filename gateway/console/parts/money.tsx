/** An amount as people read it, which says all of its places under the pointer. */
import { dollars, exactDollars } from "./words.ts";

/** @param of USD; a decimal where the API gives one, so that no place is lost */
export const Money = ({ of: amount }: { of: number | string }) => (
  <span title={exactDollars(amount)}>{dollars(Number(amount))}</span>
);
