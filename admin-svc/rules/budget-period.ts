/** Budget periods, which begin and end at midnight UTC. */

/** End of the current budget period; undefined for a budget that never resets. */
export function periodEnd(reset: string | null, now: Date): Date | undefined {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  if (reset === "daily") return new Date(Date.UTC(year, month, day + 1));
  // Weeks begin on Monday.
  if (reset === "weekly") return new Date(Date.UTC(year, month, day + 7 - ((now.getUTCDay() + 6) % 7)));
  if (reset === "monthly") return new Date(Date.UTC(year, month + 1, 1));
  return undefined;
}
