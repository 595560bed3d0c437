/** Costs of the workspace by day, model and key. */
import { useLoad } from "../api/load.ts";
import { Meter } from "../parts/meter.tsx";
import { Bars } from "../parts/bars.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Ranks } from "../parts/ranks.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { count, dollars, plural } from "../parts/words.ts";
import type { Key } from "../keys/data.ts";
import { spentOf } from "../keys/record.tsx";
import { type OverviewData, type Totals, loadOverview, nearLimit } from "./data.ts";

export function OverviewPage() {
  const overview = useLoad(loadOverview);
  return (
    <Page title="Overview" lead="What this workspace spends on models. Days are counted in UTC.">
      <Show of={overview} lines={10}>
        {(data) => (
          <>
            <Figures data={data} />
            <Card title="Cost by day">
              <Bars title="Cost by day in the last 30 days" bars={barsOf(data)} format={dollars} />
            </Card>
            <div class="grid">
              <TopModels data={data} />
              <TopKeys keys={data.keys} />
              <NearLimit keys={nearLimit(data.keys)} />
            </div>
          </>
        )}
      </Show>
    </Page>
  );
}

const barsOf = ({ days }: OverviewData) => days.map(({ date, cost }) => ({ name: date, values: [cost] }));

const Figures = ({ data: { today, month, credits } }: { data: OverviewData }) => (
  <dl class="figures">
    <Figure name="Today" totals={today} />
    <Figure name="Last 30 days" totals={month} />
    <div class="figure">
      <dt>Tokens in 30 days</dt>
      <dd>{count(month.tokens)}</dd>
      <dd class="sub">{plural(month.requests, "request")}</dd>
    </div>
    <div class="figure">
      <dt>Budget of the workspace</dt>
      <dd>{credits.unlimited ? "No limit" : dollars(Math.max(0, credits.total_credits - credits.total_usage))}</dd>
      <dd class="sub">
        {credits.unlimited
          ? `${dollars(credits.total_usage)} spent in all`
          : `left of ${dollars(credits.total_credits)}`}
      </dd>
    </div>
  </dl>
);

const Figure = ({ name, totals: { cost, requests } }: { name: string; totals: Totals }) => (
  <div class="figure">
    <dt>{name}</dt>
    <dd>{dollars(cost)}</dd>
    <dd class="sub">{plural(requests, "request")}</dd>
  </div>
);

const shown = 5;

const TopModels = ({ data: { models } }: { data: OverviewData }) => (
  <Card title="Models with the highest cost">
    {models.length === 0 ? (
      <Empty title="No requests in 30 days" />
    ) : (
      <Ranks of={models.slice(0, shown).map(({ name, cost }) => ({ id: name, name, value: cost }))} format={dollars} />
    )}
  </Card>
);

function TopKeys({ keys }: { keys: readonly Key[] }) {
  const top = keys.filter(({ usage_monthly: cost }) => cost > 0).toSorted((a, b) => b.usage_monthly - a.usage_monthly);
  const ranks = top.slice(0, shown).map(({ hash, name, usage_monthly: value }) => ({
    id: hash,
    name: <a href={`/console/keys/${hash}`}>{name}</a>,
    value,
  }));
  return (
    <Card title="Keys with the highest cost this month">
      {ranks.length === 0 ? <Empty title="Nothing spent this month" /> : <Ranks of={ranks} format={dollars} />}
    </Card>
  );
}

const NearLimit = ({ keys }: { keys: readonly Key[] }) => (
  <Card title="Budgets above 80 %">
    {keys.length === 0 ? (
      <Empty title="No key is near its budget" />
    ) : (
      <ul class="ranks">
        {keys.slice(0, shown).map((key) => (
          <li key={key.hash}>
            <a href={`/console/keys/${key.hash}`}>{key.name}</a>
            <Meter spent={spentOf(key)} limit={key.limit ?? null} />
          </li>
        ))}
      </ul>
    )}
  </Card>
);
