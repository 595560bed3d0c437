/** Bars by day, stacked for days with several parts. */
import { Legend } from "./legend.tsx";

export interface Bar {
  readonly name: string;
  /** Values in the order of the series. */
  readonly values: readonly number[];
}

interface BarsProps {
  /** A description of the chart for screen readers. */
  readonly title: string;
  readonly bars: readonly Bar[];
  /** Names of the parts; a single part needs no legend. */
  readonly series?: readonly string[];
  readonly format: (value: number) => string;
}

const total = ({ values }: Bar): number => values.reduce((sum, value) => sum + value, 0);

export function Bars({ title, bars, series = [], format }: BarsProps) {
  const highest = Math.max(...bars.map(total), 0);
  const peak = bars.find((bar) => total(bar) === highest);
  const summary = highest > 0 && peak ? `${title}. Highest: ${format(highest)}, ${peak.name}.` : `${title}: none.`;
  return (
    <figure class="bars">
      <div class="bars-top">
        <span class="muted">{highest > 0 ? format(highest) : ""}</span>
      </div>
      <div class="bars-plot" role="img" aria-label={summary}>
        {bars.map((bar) => (
          <div key={bar.name} class="bar" title={tip(bar, series, format)}>
            {bar.values.map((value, n) => (
              <i
                key={n}
                class={`series-${(n % 6) + 1}`}
                style={{ height: `${highest > 0 ? (value / highest) * 100 : 0}%` }}
              />
            ))}
          </div>
        ))}
      </div>
      <div class="bars-foot muted">
        <span>{bars[0]?.name}</span>
        <span>{bars.at(-1)?.name}</span>
      </div>
      {series.length > 1 && <Legend names={series} />}
    </figure>
  );
}

function tip(bar: Bar, series: readonly string[], format: (value: number) => string): string {
  if (series.length < 2) return `${bar.name}: ${format(total(bar))}`;
  const parts = bar.values.flatMap((value, n) => (value > 0 ? [`${series[n]}: ${format(value)}`] : []));
  return [`${bar.name}: ${format(total(bar))}`, ...parts].join("\n");
}
