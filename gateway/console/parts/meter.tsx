/** The spent share of a budget as a bar. */
import { Money } from "./money.tsx";
import { formatDollars } from "./words.ts";

interface MeterProps {
  readonly spent: number;
  /** Null without a limit. */
  readonly limit: number | null;
}

export function Meter({ spent, limit }: MeterProps) {
  if (limit === null) {
    return (
      <span class="amount">
        <Money of={spent} />
      </span>
    );
  }
  const share = limit === 0 ? 1 : Math.min(1, spent / limit);
  const tone = share >= 0.95 ? "full" : share >= 0.8 ? "high" : "";
  return (
    <div class="meter-line">
      <span class="amount">
        <Money of={spent} /> <span class="muted">of {formatDollars(limit)}</span>
      </span>
      <div class={`meter ${tone}`} role="img" aria-label={`${Math.round(share * 100)}% of the budget is spent`}>
        <i style={{ width: `${Math.max(share * 100, spent > 0 ? 2 : 0)}%` }} />
      </div>
    </div>
  );
}
