/** Formats the results of a campaign for people. */
import type { BudgetReport } from "./campaign.ts";

export const reportLines = (seed: number, { asked, statuses, groups, complaints }: BudgetReport): readonly string[] => [
  ...complaints,
  ...groups.map(
    ({ name, keys, limits, journal, overshoot, bound }) =>
      `${name}: ${keys} keys with ${usd(limits)}, journal ${usd(journal)}; the worst key ${usd(overshoot)} above its limit (bound ${usd(bound)})`,
  ),
  `seed ${seed}: ${asked} requests, ${statusText(statuses)}; ${complaints.length} complaints`,
];

const usd = (amount: number): string => `${amount.toFixed(4)} USD`;

const statusText = (statuses: Readonly<Record<string, number>>): string =>
  Object.entries(statuses)
    .map(([status, count]) => (status === "0" ? `${count} left` : `${count} with ${status}`))
    .join(", ");
