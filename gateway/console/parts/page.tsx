/** The frame of a page: title, subject and actions. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageProps {
  readonly title: string;
  readonly lead?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface CardProps {
  readonly title?: string;
  readonly aside?: ComponentChildren;
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

/** A framed section of a page. @param flush whether it has no inner margins, as for tables */
export const Card = ({ title, aside, flush = false, children }: CardProps) => (
  <section class={flush ? "card flush" : "card"}>
    {title !== undefined && (
      <div class="card-head">
        <h2>{title}</h2>
        {aside}
      </div>
    )}
    {children}
  </section>
);
