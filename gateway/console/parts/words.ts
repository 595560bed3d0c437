/** Formats numbers and times for people. */

/** An amount in USD, with enough decimal places to differ from zero. */
export function formatDollars(amount: number): string {
  if (amount === 0) return "$0.00";
  const places = Math.abs(amount) >= 0.01 ? 2 : Math.min(12, 1 - Math.floor(Math.log10(Math.abs(amount))));
  return amount.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: places });
}

const exact = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 12 });

/** An amount in USD with every digit of the ledger. @param amount a decimal string, since a number would lose digits */
export const formatExactDollars = (amount: number | string): string =>
  exact.format(amount as Intl.StringNumericLiteral);

/** A count: 12,345 up to a hundred thousand, then 1.2M. */
export const formatCount = (value: number): string =>
  value < 100_000
    ? value.toLocaleString("en-US")
    : value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });

export const formatPercent = (share: number): string =>
  share.toLocaleString("en-US", { style: "percent", maximumFractionDigits: 1 });

/** A percentage rounded down to a tenth, so that only a full 100 % reads as 100 %. @param percent 0 to 100 */
export const formatUptime = (percent: number): string => `${(Math.floor(percent * 10) / 10).toFixed(1)}%`;

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${formatCount(value)} ${value === 1 ? one : many}`;

const units = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** An instant relative to now, such as "3 hours ago" or "in 2 days". */
export function formatRelativeTime(instant: string): string {
  const seconds = (Date.parse(instant) - Date.now()) / 1_000;
  for (const [unit, length] of units) {
    if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? "in a moment" : "just now";
}

/** An instant such as "2026-11-29 18:06:12", in UTC like all daily figures. */
export const formatClock = (instant: string): string => new Date(instant).toISOString().slice(0, 19).replace("T", " ");

export const formatDateTime = (instant: string): string => `${formatClock(instant)} UTC`;

interface FirstToken {
  readonly first_token_ms_p50: number | null;
  readonly first_token_ms_p95: number | null;
}

/** The median and the 95th percentile of the time to the first token, as a text. */
export const formatFirstTokenTimes = (sums: FirstToken | undefined): string =>
  sums === undefined || sums.first_token_ms_p50 === null
    ? "–"
    : `${formatMilliseconds(sums.first_token_ms_p50)} / ${formatMilliseconds(sums.first_token_ms_p95 ?? 0)}`;

export const formatMilliseconds = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;

/** A duration such as "2 min 13 s" or "3 h 5 min". */
export function formatDuration(ms: number): string {
  if (ms < 60_000) return formatMilliseconds(ms);
  const seconds = Math.round(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  if (hours >= 48) return plural(Math.round(hours / 24), "day");
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
