/** The largest values as bars. The largest value has the full length. */
import type { ComponentChildren } from "preact";

export interface Rank {
  readonly id: string;
  readonly name: ComponentChildren;
  readonly value: number;
}

interface RanksProps {
  readonly of: readonly Rank[];
  readonly format: (value: number) => string;
}

export function Ranks({ of, format }: RanksProps) {
  const largest = Math.max(...of.map(({ value }) => value), 0);
  return (
    <ol class="ranks">
      {of.map(({ id, name, value }) => (
        <li key={id}>
          <span>{name}</span>
          <span class="amount">{format(value)}</span>
          <div class="meter" aria-hidden="true">
            <i style={{ width: `${largest > 0 ? (value / largest) * 100 : 0}%` }} />
          </div>
        </li>
      ))}
    </ol>
  );
}
