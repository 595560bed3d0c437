/** Health of providers: calls, failures and latencies of each of their models, with the way to the requests. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { session } from "../api/session.ts";
import { type ViewChange, explorerAddress } from "../explorer/address.ts";
import { TestButton } from "../models/test.tsx";
import { ProviderState } from "../models/providers.tsx";
import { RequireRole } from "../parts/allowed.tsx";
import { SelectField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { formatCount, formatMilliseconds, formatUptime } from "../parts/words.ts";
import { type CalledModel, type ProviderHealth, defaultPeriod, loadHealth, periods } from "./data.ts";

export function HealthPage() {
  const { query, route } = useLocation();
  const last = periods.find(([name]) => name === query["last"])?.[0] ?? defaultPeriod;
  const [refreshes, setRefreshes] = useState(0);
  const health = useLoad(() => loadHealth(last), [last, refreshes]);
  const choose = (name: string) =>
    route(name === defaultPeriod ? "/console/health" : `/console/health?last=${encodeURIComponent(name)}`);
  const refresh = (
    <button type="button" class="button" disabled={health.loading} onClick={() => setRefreshes(refreshes + 1)}>
      <Icon name="refresh" /> Refresh
    </button>
  );
  return (
    <Page
      title="Health"
      lead="How providers answer: every call of this workspace, also those after which a request went on elsewhere."
      actions={refresh}
    >
      <div class="toolbar spaced">
        <SelectField label="Period" value={last} onValue={choose} options={periods} />
      </div>
      <Show of={health} lines={8}>
        {(providers) =>
          providers.length === 0 ? (
            <Card>
              <Empty title="No provider is configured">
                <a class="button" href="/console/providers">
                  Add a provider
                </a>
              </Empty>
            </Card>
          ) : (
            providers.map((each) => <ProviderCard key={each.id} health={each} last={last} />)
          )
        }
      </Show>
    </Page>
  );
}

interface CardProps {
  readonly health: ProviderHealth;
  /** Period of the explorer. */
  readonly last: string;
}

function ProviderCard({ health: { id, provider, models, ejected }, last }: CardProps) {
  const aside = provider && (
    <div class="actions">
      <ProviderState status={provider.status} />
      {session.value?.account && (
        <RequireRole to="operator">
          <TestButton id={id} name={provider.name} />
        </RequireRole>
      )}
    </div>
  );
  return (
    <Card title={provider?.name ?? id} aside={aside} flush>
      {models.length === 0 ? (
        <p class="table-foot muted">No calls in this period.</p>
      ) : (
        <Table
          columns={[
            ["Model"],
            ["Uptime", "number"],
            ["Calls", "wide number"],
            ["Failures"],
            ["Fallbacks", "wide number"],
            ["First token p50 / p95", "wide number"],
            ["Whole answer p50 / p95", "wide number"],
          ]}
        >
          {models.map((called) => (
            <ModelRow
              key={called.model}
              called={called}
              isEjected={ejected.has(called.model ?? "")}
              view={{ last, provider: id, model: called.model ?? "" }}
            />
          ))}
        </Table>
      )}
    </Card>
  );
}

interface RowProps {
  readonly called: CalledModel;
  readonly isEjected: boolean;
  /** Filters of the explorer that select the requests of this row. */
  readonly view: ViewChange;
}

function ModelRow({ called, isEjected, view }: RowProps) {
  const { model, uptime, calls, failures, fallbacks } = called;
  const requests: ViewChange = { ...view, tab: "requests", show: "list" };
  const { last = "", provider = "" } = view;
  const fallback: ViewChange = { last, tab: "requests", show: "list", fallback: provider };
  return (
    <tr>
      <th scope="row" class="value-name">
        {model === null ? <span class="muted">No model</span> : <a href={`/console/models/${model}`}>{model}</a>}
        {isEjected && (
          <span class="sub">
            <span class="badge danger">Ejected</span>
          </span>
        )}
      </th>
      <td class="number">
        <Uptime percent={uptime} />
      </td>
      <td class="wide number">
        <a class="figure-link" href={explorerAddress(requests)}>
          {formatCount(calls)}
        </a>
      </td>
      <td>
        {failures === 0 ? (
          <span class="muted">None</span>
        ) : (
          <ul class="failures">
            {called.errors.map(({ error, calls: count }) => (
              <li key={error}>
                <ErrorKind error={error} count={count} requests={requests} fallback={fallback} />
              </li>
            ))}
          </ul>
        )}
      </td>
      <td class="wide number">
        <a class="figure-link" href={explorerAddress(fallback)}>
          {formatCount(fallbacks)}
        </a>
      </td>
      {(["first_token_ms", "duration_ms"] as const).map((figure) => (
        <td class="wide number" key={figure}>
          <a class="figure-link" href={explorerAddress({ ...view, tab: "latency", measure: `${figure}_p95` })}>
            {percentiles(called[`${figure}_p50`], called[`${figure}_p95`])}
          </a>
        </td>
      ))}
    </tr>
  );
}

interface ErrorProps {
  readonly error: string;
  readonly count: number;
  readonly requests: ViewChange;
  /**
   * Filters for requests that fell back after a failure. The explorer finds them by fallback, because it knows only the error of a request's last
   * call.
   */
  readonly fallback: ViewChange;
}

const ErrorKind = ({ error, count, requests, fallback }: ErrorProps) => (
  <a href={explorerAddress(error.startsWith("status_") ? fallback : { ...requests, error })}>
    {formatCount(count)} {error.startsWith("status_") ? `${error.replace("_", " ")}, then another call` : error}
  </a>
);

const good = 99;
const fair = 95;

const Uptime = ({ percent }: { percent: number | null }) =>
  percent === null ? (
    <span class="muted">–</span>
  ) : (
    <span class={`badge ${percent >= good ? "good" : percent >= fair ? "warn" : "danger"}`}>
      {formatUptime(percent)}
    </span>
  );

const percentiles = (p50: number | null, p95: number | null): string =>
  p50 === null ? "–" : `${formatMilliseconds(p50)} / ${formatMilliseconds(p95 ?? p50)}`;
