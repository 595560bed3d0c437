/** Tabs. The arrow keys move between them. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

interface Tab {
  readonly name: string;
  readonly body: () => ComponentChildren;
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [at, setAt] = useState(0);
  const id = useId();
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = (at + step + tabs.length) % tabs.length;
    setAt(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map(({ name }, n) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${n}`}
            aria-selected={n === at}
            aria-controls={`${id}-panel`}
            tabIndex={n === at ? 0 : -1}
            onClick={() => setAt(n)}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${at}`} tabIndex={0}>
        {tabs[at]?.body()}
      </div>
    </div>
  );
}
