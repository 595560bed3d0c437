/** Lets a person choose the columns of the explorer's tables, and keeps the choice in the page's address. */
import { useState } from "preact/hooks";
import { CheckField } from "../parts/field.tsx";
import { type Explorer, type View, tabOf } from "./address.ts";
import { type Measure, drawnMeasure, figuresOf, measures } from "./measures.ts";
import { requestColumns } from "./request-columns.tsx";

interface Choosable {
  readonly id: string;
  readonly title: string;
}

const chosenIn = ({ columns }: View): ReadonlySet<string> => new Set(columns.split(",").filter((id) => id !== ""));

/** The columns of the list of requests: those named in the address, else the usual ones. */
export function listColumns(view: View) {
  const chosen = chosenIn(view);
  const found = requestColumns.filter(({ id }) => chosen.has(id));
  return found.length > 0 ? found : requestColumns.filter(({ isUsual }) => isUsual);
}

/** The columns of the table of sums: the measure of the chart, then those named in the address, else those of the tab. */
export function sumColumns(view: View): readonly Measure[] {
  const tab = tabOf(view);
  const first = drawnMeasure(tab, view.measure);
  const chosen = chosenIn(view);
  const found = measures.filter(({ id }) => chosen.has(id));
  const others = found.length > 0 ? found : figuresOf[tab].columns;
  return [first, ...others.filter(({ id }) => id !== first.id)];
}

export function ColumnChoice({ explorer: { view, change }, listed }: { explorer: Explorer; listed: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const offered: readonly Choosable[] = listed ? requestColumns : measures;
  const shown = new Set((listed ? listColumns(view) : sumColumns(view)).map(({ id }) => id));
  const fixed = listed ? undefined : drawnMeasure(tabOf(view), view.measure).id;
  const toggle = (id: string, isShown: boolean) => {
    const next = offered.filter((each) => (each.id === id ? isShown : shown.has(each.id)));
    change({ columns: next.map((each) => each.id).join(",") });
  };
  return (
    <details class="column-choice" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Columns</summary>
      {isOpen && (
        <fieldset>
          <legend class="unseen">Columns of the table</legend>
          {offered
            .filter(({ id }) => id !== fixed)
            .map(({ id, title }) => (
              <CheckField key={id} label={title} checked={shown.has(id)} onChecked={(checked) => toggle(id, checked)} />
            ))}
        </fieldset>
      )}
    </details>
  );
}
