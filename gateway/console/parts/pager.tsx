/** Steps through a long list. */
import { Icon } from "./icon.tsx";
import { formatCount } from "./words.ts";

interface PagerProps {
  readonly offset: number;
  readonly size: number;
  readonly total: number;
  readonly onOffset: (offset: number) => void;
}

export const Pager = ({ offset, size, total, onOffset }: PagerProps) =>
  total <= size ? null : (
    <div class="pager">
      <span>
        {formatCount(offset + 1)} to {formatCount(Math.min(offset + size, total))} of {formatCount(total)}
      </span>
      <div>
        <button type="button" class="button small" disabled={offset === 0} onClick={() => onOffset(offset - size)}>
          <Icon name="left" size={16} /> Before
        </button>
        <button
          type="button"
          class="button small"
          disabled={offset + size >= total}
          onClick={() => onOffset(offset + size)}
        >
          Next <Icon name="right" size={16} />
        </button>
      </div>
    </div>
  );
