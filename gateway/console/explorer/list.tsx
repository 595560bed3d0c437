/** The requests of a view, latest first; a click on a row opens its request. */
import { useLoad } from "../api/load.ts";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { formatClock, formatMilliseconds, formatPercent, plural } from "../parts/words.ts";
import { requestAddress } from "../requests/address.ts";
import { type Explorer, explorerAddress } from "./address.ts";
import { listColumns } from "./columns.tsx";
import { loadRequests } from "./data.ts";
import type { Sums } from "./measures.ts";
import type { Listed } from "./request-columns.tsx";

interface ListProps {
  readonly explorer: Explorer;
  /** Sums over all requests of the view. */
  readonly whole: Sums | undefined;
  /** Number of refreshes of the page; a change loads the list again. */
  readonly refreshes: number;
}

export function RequestList({ explorer, whole, refreshes }: ListProps) {
  const { view, addressWith } = explorer;
  const requests = useLoad(
    () => loadRequests(view),
    [explorerAddress({ ...view, sort: "", columns: "", tab: "" }), refreshes],
  );
  return (
    <>
      {whole && view.q === "" && view.fallback === "" && <Summary sums={whole} />}
      <Show of={requests} lines={8}>
        {({ data, next_cursor: next }) => (
          <>
            {data.length === 0 ? (
              <Empty title="No requests match these filters in this period">
                <p>A request appears here within two seconds of its end.</p>
              </Empty>
            ) : (
              <RequestTable requests={data} columns={listColumns(view)} />
            )}
            <div class="pager">
              {view.cursor === "" ? <span /> : <a href={addressWith({})}>Latest requests</a>}
              {next !== null && (
                <a class="button small" href={addressWith({ cursor: next })}>
                  Older <Icon name="right" size={16} />
                </a>
              )}
            </div>
          </>
        )}
      </Show>
    </>
  );
}

const Summary = ({ sums }: { sums: Sums }) => (
  <p class="facts-line list-summary">
    <span>{plural(sums.requests, "request")}</span>
    <span>
      {plural(sums.failures, "failure")} ({formatPercent(sums.failures / Math.max(1, sums.requests))})
    </span>
    <span>
      <Money of={sums.cost_usd} />
    </span>
    {sums.first_token_ms_p95 !== null && <span>first token p95 {formatMilliseconds(sums.first_token_ms_p95)}</span>}
  </p>
);

interface TableProps {
  readonly requests: readonly Listed[];
  readonly columns: ReturnType<typeof listColumns>;
}

const RequestTable = ({ requests, columns }: TableProps) => (
  <Table columns={[["Time (UTC)"], ...columns.map(({ title, classes }): Column => [title, classes])]}>
    {requests.map((request) => (
      <tr key={request.id} class="row-link">
        <th scope="row" class="amount">
          <a href={requestAddress(request.id)}>
            {formatClock(request.created_at)
              .split(" ")
              .map((part) => (
                <span key={part} class="amount">
                  {part}{" "}
                </span>
              ))}
          </a>
        </th>
        {columns.map(({ id, classes, cellClass, cell }) => (
          <td key={id} class={cellClass ?? classes}>
            {cell(request)}
          </td>
        ))}
      </tr>
    ))}
  </Table>
);
