/** The requests of a view, latest first; a whole row leads to its request. */
import { useLoad } from "../api/load.ts";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { formatClock, formatCount, formatMilliseconds, formatPercent, plural } from "../parts/words.ts";
import { requestAddress } from "../requests/address.ts";
import { OutcomeBadge } from "../requests/outcome-badge.tsx";
import { type Explorer, explorerAddress } from "./address.ts";
import { loadRequests } from "./data.ts";
import type { Sums } from "./measures.ts";

interface ListProps {
  readonly explorer: Explorer;
  /** Sums of the listed requests. */
  readonly whole: Sums | undefined;
  /** Times that the page was refreshed. */
  readonly refreshes: number;
}

export function RequestList({ explorer, whole, refreshes }: ListProps) {
  const { view, addressWith } = explorer;
  const requests = useLoad(() => loadRequests(view), [explorerAddress({ ...view, sort: "", tab: "" }), refreshes]);
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
              <RequestTable requests={data} />
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

type Listed = Awaited<ReturnType<typeof loadRequests>>["data"][number];

export const RequestTable = ({ requests }: { requests: readonly Listed[] }) => (
  <Table
    columns={[
      ["Time (UTC)"],
      ["Status"],
      ["Model"],
      ["Key", "wide"],
      ["Tokens in", "wide number"],
      ["Tokens out", "wide number"],
      ["First token", "wide number"],
      ["Duration", "wide number"],
      ["Cost", "number"],
    ]}
  >
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
        <td>
          <OutcomeBadge outcome={request.outcome} status={request.status} />
          <span class="sub">{reasonOf(request)}</span>
        </td>
        <td class="value-name">
          <span>{request.model ?? request.requested_model ?? "No model"}</span>
          <span class="sub">{request.provider}</span>
        </td>
        <td class="wide">
          <a class="above" href={`/console/keys/${request.key_hash}`}>
            {request.key_name ?? request.key_hash.slice(0, 12)}
          </a>
          {request.user !== null && <span class="sub">{request.user}</span>}
        </td>
        <td class="wide number">{formatCount(request.input_tokens)}</td>
        <td class="wide number">{formatCount(request.output_tokens)}</td>
        <td class="wide number">
          {request.first_token_ms === null ? "–" : formatMilliseconds(request.first_token_ms)}
        </td>
        <td class="wide number">{formatMilliseconds(request.duration_ms)}</td>
        <td class="number">
          <Money of={request.cost_usd} />
        </td>
      </tr>
    ))}
  </Table>
);

/** Why a request failed, in its most exact word. */
const reasonOf = ({ rule, provider_code: code, provider_error: kind, error_type: type, requests }: Listed): string =>
  [rule ?? (kind === null ? type : code === null ? kind : `${kind}: ${code}`), requests > 1 && `${requests} times`]
    .filter(Boolean)
    .join(", ");
