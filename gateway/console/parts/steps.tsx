/** Pages through a list back in time. */
import { Icon } from "./icon.tsx";

interface StepsProps {
  readonly isFirst: boolean;
  readonly next: string | null;
  readonly onBack: () => void;
  readonly onNext: (cursor: string) => void;
}

export const Steps = ({ isFirst, next, onBack, onNext }: StepsProps) =>
  isFirst && next === null ? null : (
    <div class="pager">
      <span />
      <div>
        <button type="button" class="button small" disabled={isFirst} onClick={onBack}>
          <Icon name="left" size={16} /> Newer
        </button>
        <button
          type="button"
          class="button small"
          disabled={next === null}
          onClick={() => next !== null && onNext(next)}
        >
          Older <Icon name="right" size={16} />
        </button>
      </div>
    </div>
  );
