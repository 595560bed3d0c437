/** Providers and their reachability. */
import { useLoad } from "../api/load.ts";
import { session } from "../api/session.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { Card } from "../parts/page.tsx";
import { Empty, Failure, Show } from "../parts/state.tsx";
import { formatFirstTokenTimes, plural } from "../parts/words.ts";
import { type LeftOut, type Provider, loadLeftOut, loadProviderDay, loadProviders } from "./data.ts";
import { TestButton } from "./test.tsx";
import { Table } from "../parts/table.tsx";

export function Providers() {
  const providers = useLoad(loadProviders);
  const day = useLoad(loadProviderDay);
  const leftOut = useLoad(loadLeftOut);
  return (
    <Card title="Providers" flush>
      <Show of={providers} lines={3}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="No provider is configured" />
          ) : (
            <ProviderTable providers={rows} day={day.data} />
          )
        }
      </Show>
      {leftOut.error && <Failure error={leftOut.error} retry={leftOut.reload} />}
      {leftOut.data && leftOut.data.length > 0 && <LeftOutList providers={leftOut.data} />}
    </Card>
  );
}

type Day = Awaited<ReturnType<typeof loadProviderDay>>;

const ProviderTable = ({ providers, day }: { providers: readonly Provider[]; day: Day | undefined }) => (
  <Table
    columns={[
      ["Provider"],
      ["Region", "wide"],
      ["Models", "wide number"],
      ["Retention", "wide"],
      ["First token p50 / p95, 24 hours", "wide number"],
      ["State"],
      ["Actions", "unseen"],
    ]}
  >
    {providers.map(({ slug, name, region, models, data_policy: policy, status }) => (
      <tr key={slug}>
        <th scope="row">
          <strong>{name}</strong>
          <span class="sub mono">{slug}</span>
        </th>
        <td class="wide">{region}</td>
        <td class="wide number">{models}</td>
        <td class="wide">{policy.retention === "none" ? "None" : "Not declared"}</td>
        <td class="wide number">{formatFirstTokenTimes(day?.get(slug))}</td>
        <td>
          <ProviderState status={status} />
        </td>
        <td class="number">
          {session.value?.account && (
            <RequireRole to="operator">
              <TestButton id={slug} name={name} />
            </RequireRole>
          )}
        </td>
      </tr>
    ))}
  </Table>
);

const LeftOutList = ({ providers }: { providers: readonly LeftOut[] }) => (
  <details class="more table-foot">
    <summary>{plural(providers.length, "provider is", "providers are")} left out</summary>
    <dl class="facts">
      {providers.map(({ slug, reason }) => (
        <>
          <dt class="mono">{slug}</dt>
          <dd>{reason}</dd>
        </>
      ))}
    </dl>
  </details>
);

export const ProviderState = ({ status }: Pick<Provider, "status">) => {
  if (status === null) return <span class="badge">No calls in 30 minutes</span>;
  const tone = status === "operational" ? "good" : "warn";
  return <span class={`badge ${tone}`}>{`${status.charAt(0).toUpperCase()}${status.slice(1)}`}</span>;
};
