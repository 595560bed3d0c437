/** Table of the sums of each value: the total, the change since the previous period, and a link to the requests. */
import type { ComponentChildren } from "preact";
import { Money } from "../parts/money.tsx";
import { formatCount, formatPercent } from "../parts/words.ts";
import { type Explorer, type View, type ViewChange, tabOf } from "./address.ts";
import { type ViewSums, comparedValue, valueKey, wholeKey } from "./data.ts";
import { sumColumns } from "./columns.tsx";
import { type Dimension, dimensionTitle, dimensionsOf, tagOf, withTag } from "./dimensions.ts";
import { type Measure, type Sums, type Total, cost, drawnMeasure } from "./measures.ts";
import { type ValueNames, partName } from "./names.ts";

interface TotalsProps {
  readonly explorer: Explorer;
  readonly sums: ViewSums;
  readonly names: ValueNames;
}

export function Totals({ explorer, sums, names }: TotalsProps) {
  const { view } = explorer;
  const tab = tabOf(view);
  const measure = drawnMeasure(tab, view.measure);
  const columns = sumColumns(view);
  const by = dimensionsOf(view);
  // Values without an error are left out: most requests have none, and their row would show nothing but zeros.
  const listed = tab === "errors" ? sums.totals.filter(({ failures }) => failures > 0) : sums.totals;
  const rows = sorted(listed, columns, view.sort === "" ? `-${measure.id}` : view.sort);
  return (
    <div class="table-scroll">
      <table>
        <thead>
          <tr>
            {by.map((dimension) => (
              <th scope="col" key={dimension}>
                {dimensionTitle(dimension)}
              </th>
            ))}
            {columns.map((column, n) => (
              <>
                <SortHead key={column.id} explorer={explorer} column={column} isFirst={n === 0} />
                {n === 0 && (
                  <th scope="col" class="number">
                    Change
                  </th>
                )}
              </>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((total) => (
            <Row key={valueKey(total)} total={total} by={by} names={names} explorer={explorer}>
              <Cells sums={total} columns={columns} explorer={explorer} filter={filterFor(view, total, by)}>
                <Change of={valueKey(total)} compared={sums.compared} measure={measure} />
              </Cells>
            </Row>
          ))}
        </tbody>
        {sums.whole && (
          <tfoot>
            <tr>
              <th scope="row" colSpan={by.length}>
                Total
              </th>
              <Cells sums={sums.whole} columns={columns} explorer={explorer} filter={{}}>
                <Change of={wholeKey} compared={sums.compared} measure={measure} />
              </Cells>
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

interface HeadProps {
  readonly explorer: Explorer;
  readonly column: Measure;
  /** Whether the table is sorted by this column unless another is chosen. */
  readonly isFirst: boolean;
}

function SortHead({ explorer: { view, addressWith }, column: { id, title }, isFirst }: HeadProps) {
  const falls = view.sort === `-${id}` || (view.sort === "" && isFirst);
  const rises = view.sort === id;
  return (
    <th scope="col" class="number" aria-sort={falls ? "descending" : rises ? "ascending" : "none"}>
      <a class="sort" href={addressWith({ sort: falls ? id : `-${id}` })}>
        {title}
        <span aria-hidden="true">{falls ? " ↓" : rises ? " ↑" : ""}</span>
      </a>
    </th>
  );
}

/** The rows sorted by a column. The row with the sum of all other values stays last. */
function sorted(totals: readonly Total[], columns: readonly Measure[], sort: string): Total[] {
  const column = columns.find(({ id }) => id === sort.replace("-", "")) ?? columns[0];
  const sign = sort.startsWith("-") ? -1 : 1;
  const rank = (total: Total) => column?.of(total) ?? -1;
  return totals.toSorted((a, b) => Number(a.is_other) - Number(b.is_other) || sign * (rank(a) - rank(b)));
}

/** A view restricted to the requests of a row; undefined if no filter can do so, as for "All others". */
function filterFor(view: View, total: Total, by: readonly Dimension[]): ViewChange | undefined {
  const values = [total.value, total.second ?? null];
  if (total.is_other || by.some((_, n) => values[n] === null)) return undefined;
  return by.reduce<View>(
    (filtered, dimension, n) => ({ ...filtered, ...valueFilter(filtered, dimension, values[n] as string) }),
    view,
  );
}

/** The change of the view that leaves only requests with one value of a dimension. */
const valueFilter = ({ tags }: View, dimension: Dimension, value: string): ViewChange =>
  tagOf(dimension) === undefined
    ? { [dimension]: value }
    : { tags: withTag(tags, dimension as `tag:${string}`, value) };

interface RowProps {
  readonly total: Total;
  readonly by: readonly Dimension[];
  readonly names: ValueNames;
  readonly explorer: Explorer;
  readonly children: ComponentChildren;
}

const Row = ({ total, by, names, explorer: { view, addressWith }, children }: RowProps) => (
  <tr>
    {total.is_other ? (
      <th scope="row" colSpan={by.length}>
        All others
      </th>
    ) : (
      by.map((dimension, n) => {
        const name = partName(total, dimension, n, names);
        const value = n === 0 ? total.value : total.second;
        return (
          <th scope="row" key={dimension} class="value-name">
            {value === null || value === undefined ? (
              <span class="muted">{name}</span>
            ) : (
              <a
                href={addressWith({ ...valueFilter(view, dimension, value), by: otherDimension(dimension), split: "" })}
              >
                {name}
              </a>
            )}
          </th>
        );
      })
    )}
    {children}
  </tr>
);

/** The dimension into which the explorer divides a value: keys for a model, models for anything else. */
const otherDimension = (dimension: Dimension): string => (dimension === "model" ? "key" : "model");

interface CellsProps {
  readonly sums: Sums;
  readonly columns: readonly Measure[];
  readonly explorer: Explorer;
  /** Filters that select the row's requests; undefined if no filters do. */
  readonly filter: ViewChange | undefined;
  /** The cell after the first column, with the change since the previous period. */
  readonly children: ComponentChildren;
}

const Cells = ({ sums, columns, explorer: { addressWith }, filter, children }: CellsProps) => (
  <>
    {columns.map((column, n) => (
      <>
        <td class="number" key={column.id}>
          <FigureLink
            href={
              filter && addressWith({ ...filter, tab: "requests", show: "list", sort: "", measure: "", columns: "" })
            }
          >
            <Figure sums={sums} measure={column} />
          </FigureLink>
        </td>
        {n === 0 && <td class="number">{children}</td>}
      </>
    ))}
  </>
);

const FigureLink = ({ href, children }: { href: string | undefined; children: ComponentChildren }) =>
  href === undefined ? (
    <>{children}</>
  ) : (
    <a class="figure-link" href={href}>
      {children}
    </a>
  );

function Figure({ sums, measure }: { sums: Sums; measure: Measure }) {
  if (measure === cost) return <Money of={sums.cost_usd} />;
  const value = measure.of(sums);
  return value === null ? (
    <span class="muted">–</span>
  ) : (
    <span title={measure.adds ? value.toLocaleString("en-US") : undefined}>{measure.format(value)}</span>
  );
}

/** An increase beyond 900 % is written as a multiple. */
const manifold = 9;

const formatSigned = (change: number): string => `${change > 0 ? "+" : ""}${formatPercent(change)}`;

interface ChangeProps {
  readonly of: string;
  readonly compared: ViewSums["compared"];
  readonly measure: Measure;
}

/** The change of a value since the previous period. A value missing there counts as new only if the sums of that period name all values. */
function Change({ of: key, compared: { now, before }, measure }: ChangeProps) {
  if (key !== wholeKey && before.hasOthers && !before.totals.has(key)) return <span class="muted">–</span>;
  const was = comparedValue(before, key, measure) ?? 0;
  const is = comparedValue(now, key, measure) ?? 0;
  if (was === 0) return <span class="muted">{is === 0 ? "–" : "new"}</span>;
  return (
    <span title={`${measure.format(was)} in the previous period; the running step counts on neither side`}>
      {is / was > manifold ? `${formatCount(Math.round(is / was))} times` : formatSigned(is / was - 1)}
    </span>
  );
}
