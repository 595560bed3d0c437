/**
 * Splits a difference in cost between two periods into three causes: number of requests, tokens per request, price per
 * token. Costs are whole picodollars.
 */
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";

export interface Amounts {
  readonly cost: bigint;
  readonly requests: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
}

/** Usage of a key and a model in two periods. `difference` is the sum of `volume`, `tokens` and `price`. */
export interface ChangePart {
  readonly key: string;
  readonly keyName: string;
  readonly model: string;
  readonly before: Amounts;
  readonly after: Amounts;
  readonly difference: bigint;
  readonly volume: bigint;
  readonly tokens: bigint;
  readonly price: bigint;
}

export const noAmounts: Amounts = { cost: 0n, requests: 0n, inputTokens: 0n, outputTokens: 0n };

export const addAmounts = (one: Amounts, other: Amounts): Amounts => ({
  cost: one.cost + other.cost,
  requests: one.requests + other.requests,
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

/** Adds up several parts; the sum has no key and model. */
export const sumParts = (parts: readonly ChangePart[]): ChangePart => ({
  key: "",
  keyName: "",
  model: "",
  before: parts.reduce((sum, { before }) => addAmounts(sum, before), noAmounts),
  after: parts.reduce((sum, { after }) => addAmounts(sum, after), noAmounts),
  difference: parts.reduce((sum, { difference }) => sum + difference, 0n),
  volume: parts.reduce((sum, { volume }) => sum + volume, 0n),
  tokens: parts.reduce((sum, { tokens }) => sum + tokens, 0n),
  price: parts.reduce((sum, { price }) => sum + price, 0n),
});

const tokensOf = ({ inputTokens, outputTokens }: Amounts): bigint => inputTokens + outputTokens;

/**
 * Splits the difference. `atOldRequest` is the cost of the later requests at the former cost per request, `atOldPrice`
 * that of the later tokens at the former cost per token. Both are rounded to picodollars, so the three causes add
 * up to the difference.
 */
export function comparePart(
  named: Pick<ChangePart, "key" | "keyName" | "model">,
  before: Amounts,
  after: Amounts,
): ChangePart {
  const difference = after.cost - before.cost;
  if (before.requests === 0n || after.requests === 0n) {
    return { ...named, before, after, difference, volume: difference, tokens: 0n, price: 0n };
  }
  const atOldRequest = (before.cost * after.requests) / before.requests;
  const formerTokens = tokensOf(before);
  const atOldPrice = formerTokens === 0n ? atOldRequest : (before.cost * tokensOf(after)) / formerTokens;
  const volume = atOldRequest - before.cost;
  const tokens = atOldPrice - atOldRequest;
  return { ...named, before, after, difference, volume, tokens, price: after.cost - atOldPrice };
}

/** Formats picodollars as an exact decimal in USD, with its sign. */
export const signedDecimal = (pico: bigint): string => (pico < 0n ? `-${toDecimal(-pico)}` : toDecimal(pico));

/** Formats an amount such as "+$1.48"; a small amount keeps two significant digits. */
function signedDollars(pico: bigint): string {
  const dollars = Math.abs(Number(pico)) / 1e12;
  const places = dollars === 0 || dollars >= 0.01 ? 2 : Math.min(12, 1 - Math.floor(Math.log10(dollars)));
  const [whole = "", fraction = ""] = dollars.toFixed(places).split(".");
  return `${pico < 0n ? "-" : "+"}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction}`;
}

/**
 * Describes the difference and its main cause in a sentence.
 * @param total sum of all parts
 * @param parts sorted by the size of their difference, largest first
 */
export function summarize(total: ChangePart, parts: readonly ChangePart[]): string {
  const { difference } = total;
  if (total.before.requests === 0n && total.after.requests === 0n) return "No usage in either period.";
  const main = parts.find((part) => part.difference < 0n === difference < 0n) ?? parts[0];
  if (main === undefined) return `The cost is the same: $${signedDollars(total.after.cost).slice(2)}.`;
  const named = `${main.keyName || main.key.slice(0, 12) || "no key"} on ${main.model || "no model"}`;
  const where = `${named}: ${causeOf(main)}`;
  if (main.difference === difference) return `${signedDollars(difference)}, all of it ${where}.`;
  const isPart = main.difference < 0n ? main.difference > difference : main.difference < difference;
  if (difference !== 0n && isPart)
    return `${signedDollars(difference)}, of which ${signedDollars(main.difference)} is ${where}.`;
  const rest = signedDollars(difference - main.difference);
  return `${signedDollars(difference)} in all: ${signedDollars(main.difference)} is ${where}, and ${rest} everything else.`;
}

/** The cause that changed the cost most, in the direction of the whole difference. */
function causeOf(part: ChangePart): string {
  const { before, after, difference, volume, tokens, price } = part;
  if (before.requests === 0n) return "not used before";
  if (after.requests === 0n) return "no longer used";
  const towards = (amount: bigint): bigint => (difference < 0n ? -amount : amount);
  const largest = [volume, tokens, price].reduce((most, each) => (towards(each) > towards(most) ? each : most));
  if (largest === volume) return compared(Number(after.requests) / Number(before.requests), "requests");
  const former = Number(tokensOf(before));
  if (largest === tokens) {
    const perRequest = Number(tokensOf(after)) / Number(after.requests);
    return compared(perRequest / (former / Number(before.requests)), "tokens a request");
  }
  if (before.cost === 0n) return "no longer free";
  if (former === 0 || tokensOf(after) === 0n) return "another price";
  const ratio = Number(after.cost) / Number(tokensOf(after)) / (Number(before.cost) / former);
  return compared(ratio, "price of a token");
}

/** Formats a ratio such as "25 times the requests" or "40 % more requests". */
function compared(ratio: number, what: string): string {
  const isPrice = what.startsWith("price");
  if (ratio >= 2) return `${ratio >= 10 ? Math.round(ratio) : Number(ratio.toFixed(1))} times the ${what}`;
  const percent = Math.max(1, Math.round(Math.abs(ratio - 1) * 100));
  if (isPrice) return `a ${what} ${percent} % ${ratio > 1 ? "higher" : "lower"}`;
  return `${percent} % ${ratio > 1 ? "more" : "fewer"} ${what}`;
}
