/** Takes a difference in cost apart: requests, tokens of a request, and price of a token. Costs are whole picodollars. */
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";

export interface Amounts {
  readonly cost: bigint;
  readonly requests: bigint;
  readonly inputTokens: bigint;
  readonly outputTokens: bigint;
}

/** Usage of a key and a model in both periods. `difference` is the sum of `volume`, `tokens` and `price`. */
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

/** The sum of parts, without a name. */
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
 * The later requests would have cost `atOldRequest` at the former cost of a request, and the later tokens `atOldPrice` at the former cost of a token. Both are
 * rounded to picodollars, so that the three parts add up.
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

/** The exact decimal in USD. */
export const signedDecimal = (pico: bigint): string => (pico < 0n ? `-${toDecimal(-pico)}` : toDecimal(pico));

/** Such as "+$1.48"; small amounts have two digits that are not zero. */
function signedDollars(pico: bigint): string {
  const dollars = Math.abs(Number(pico)) / 1e12;
  const places = dollars === 0 || dollars >= 0.01 ? 2 : Math.min(12, 1 - Math.floor(Math.log10(dollars)));
  const [whole = "", fraction = ""] = dollars.toFixed(places).split(".");
  return `${pico < 0n ? "-" : "+"}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction}`;
}

/**
 * The difference and its main cause.
 * @param total the sum of all parts
 * @param parts with the largest difference first
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

/** Which of the three parts moved the cost most in its direction. */
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

/** Such as "25 times the requests" or "40 % more requests". */
function compared(ratio: number, what: string): string {
  const isPrice = what.startsWith("price");
  if (ratio >= 2) return `${ratio >= 10 ? Math.round(ratio) : Number(ratio.toFixed(1))} times the ${what}`;
  const percent = Math.max(1, Math.round(Math.abs(ratio - 1) * 100));
  if (isPrice) return `a ${what} ${percent} % ${ratio > 1 ? "higher" : "lower"}`;
  return `${percent} % ${ratio > 1 ? "more" : "fewer"} ${what}`;
}
