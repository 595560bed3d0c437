/** Providers and whether they answer. */
import { useLoad } from "../api/load.ts";
import { Allowed } from "../parts/allowed.tsx";
import { Card } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { type Provider, loadProviders } from "./data.ts";
import { TestButton } from "./test.tsx";
import { Table } from "../parts/table.tsx";

export function Providers() {
  const providers = useLoad(loadProviders);
  return (
    <Card title="Providers" flush>
      <Show of={providers} lines={3}>
        {(rows) =>
          rows.length === 0 ? <Empty title="No provider is configured" /> : <ProviderTable providers={rows} />
        }
      </Show>
    </Card>
  );
}

const ProviderTable = ({ providers }: { providers: readonly Provider[] }) => (
  <Table
    columns={[
      ["Provider"],
      ["Region", "wide"],
      ["Models", "number"],
      ["Keeps what it is sent", "wide"],
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
        <td class="number">{models}</td>
        <td class="wide">{policy.retention === "none" ? "Nothing" : "Not declared"}</td>
        <td>
          <State status={status} />
        </td>
        <td class="number">
          <Allowed to="operator">
            <TestButton id={slug} name={name} />
          </Allowed>
        </td>
      </tr>
    ))}
  </Table>
);

const State = ({ status }: Pick<Provider, "status">) => {
  if (status === null) return <span class="badge">Not asked yet</span>;
  const tone = status === "operational" ? "good" : "warn";
  return <span class={`badge ${tone}`}>{`${status.charAt(0).toUpperCase()}${status.slice(1)}`}</span>;
};
