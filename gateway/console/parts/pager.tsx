/** Steps through a long list. */
import { Icon } from "./icon.tsx";
import { formatCount } from "./words.ts";

interface PagerProps {
  readonly offset: number;
  readonly size: number;
  readonly total: number;
  /** Opens the previous page; undefined on the first page. */
  readonly onBack: (() => void) | undefined;
  /** Opens the next page; undefined on the last page. */
  readonly onNext: (() => void) | undefined;
}

export const Pager = ({ offset, size, total, onBack, onNext }: PagerProps) =>
  onBack === undefined && onNext === undefined ? null : (
    <div class="pager">
      <span>
        {formatCount(offset + 1)} to {formatCount(Math.min(offset + size, total))} of {formatCount(total)}
      </span>
      <div>
        <button type="button" class="button small" disabled={onBack === undefined} onClick={onBack}>
          <Icon name="left" size={16} /> Before
        </button>
        <button type="button" class="button small" disabled={onNext === undefined} onClick={onNext}>
          Next <Icon name="right" size={16} />
        </button>
      </div>
    </div>
  );

interface CursorPagerProps extends Pick<PagerProps, "size" | "total"> {
  /** Cursors of the pages after the first one, up to the shown page. */
  readonly cursors: readonly string[];
  readonly next: string | null;
  readonly onCursors: (cursors: readonly string[]) => void;
}

export const CursorPager = ({ cursors, next, onCursors, size, total }: CursorPagerProps) => (
  <Pager
    offset={cursors.length * size}
    size={size}
    total={total}
    onBack={cursors.length === 0 ? undefined : () => onCursors(cursors.slice(0, -1))}
    onNext={next === null ? undefined : () => onCursors([...cursors, next])}
  />
);
