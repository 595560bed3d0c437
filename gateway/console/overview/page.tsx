/** Costs, failures and latencies of the workspace. */
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { hasRole } from "../api/session.ts";
import { Meter } from "../parts/meter.tsx";
import { Money } from "../parts/money.tsx";
import { Chart } from "../parts/chart.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Ranks } from "../parts/ranks.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatCount, formatDollars, formatMilliseconds, formatPercent, plural } from "../parts/words.ts";
import type { Key } from "../keys/data.ts";
import { type ViewChange, explorerAddress } from "../explorer/address.ts";
import type { Total } from "../explorer/measures.ts";
import { toAddressTime } from "../explorer/time.ts";
import { budgetSpending } from "../keys/record.tsx";
import { ConfigurationNotice } from "./configuration.tsx";
import { isWelcomeDue } from "../welcome/landing.ts";
import { type OverviewData, keysNearBudget, loadOverview, noBudget } from "./data.ts";

export function OverviewPage() {
  const overview = useLoad(loadOverview);
  const { route } = useLocation();
  const isDue = overview.data !== undefined && isWelcomeDue(overview.data.month !== undefined);
  useEffect(() => {
    if (isDue) route("/console/welcome", true);
  }, [isDue]);
  const narrow = (from: number, to: number) =>
    route(explorerAddress({ from: toAddressTime(from), to: toAddressTime(to) }));
  return (
    <Page title="Overview" lead="What this workspace spends on models, and what fails. Days are counted in UTC.">
      <ConfigurationNotice />
      <Show of={overview} lines={10}>
        {(data) => (
          <>
            {!data.month && <FirstSteps />}
            <Figures data={data} />
            <Card title="Cost by day" aside={<a href={explorerAddress(month)}>Explorer</a>}>
              <Chart
                title="Cost by day in the last 30 days"
                range={data.range}
                kind="bars"
                series={[{ name: "Cost", values: data.costs }]}
                format={formatDollars}
                onSelect={narrow}
              />
            </Card>
            <div class="grid">
              <TopModels data={data} />
              <TopKeys keys={data.keys} />
              <Budgets keys={keysNearBudget(data.keys)} refused={data.refused} />
              <Failures data={data} />
            </div>
          </>
        )}
      </Show>
    </Page>
  );
}

/** The view of the explorer for the page's period. */
const month: ViewChange = { last: "30d" };

const FirstSteps = () => (
  <Card title="No request in 30 days: first steps">
    <ol>
      <li>
        <a href="/console/welcome">Welcome</a> leads from a provider to a first request, a budget and a guardrail.
      </li>
      <li>
        <a href="/console/models">Models</a> shows what keys can ask for, and how the providers behind it are doing.
      </li>
      <li>
        <a href="/console/keys">Keys</a> makes a key for an application, with a budget.
      </li>
      {hasRole("operator") && (
        <li>
          The <a href="/console/playground">playground</a> sends a request, and shows it as curl and in the SDKs.
        </li>
      )}
      <li>
        The <a href="/console/reference">API reference</a> has every operation, and the{" "}
        <a href="/docs/">documentation</a> a page for every task.
      </li>
      <li>
        The command <code>sluice demo</code> fills another workspace with made-up requests, to look around.
      </li>
    </ol>
  </Card>
);

const Figures = ({ data: { today, month: sums, credits } }: { data: OverviewData }) => (
  <dl class="figures">
    <Spent name="Today" sums={today} view={{ last: "today" }} />
    <Spent name="Last 30 days" sums={sums} view={month} />
    <div class="figure">
      <dt>Failed in 30 days</dt>
      <dd>
        <a href={explorerAddress({ ...month, tab: "errors" })}>
          {sums ? formatPercent(sums.failures / Math.max(1, sums.requests)) : "None"}
        </a>
      </dd>
      <dd class="sub">{plural(sums?.failures ?? 0, "request")}</dd>
    </div>
    <Latency
      sums={today ?? sums}
      name={today ? "today" : "in 30 days"}
      view={{ ...(today ? { last: "today" } : month), tab: "latency" }}
    />
    <div class="figure">
      <dt>Budget of the workspace</dt>
      <dd>
        {credits.unlimited ? "Unlimited" : formatDollars(Math.max(0, credits.total_credits - credits.total_usage))}
      </dd>
      <dd class="sub">
        {credits.unlimited
          ? `${formatDollars(credits.total_usage)} spent in all`
          : `left of ${formatDollars(credits.total_credits)}`}
      </dd>
    </div>
  </dl>
);

type Sums = Pick<Total, "cost_usd" | "requests" | "input_tokens" | "output_tokens">;

const Spent = ({ name, sums, view }: { name: string; sums: Sums | undefined; view: ViewChange }) => (
  <div class="figure">
    <dt>{name}</dt>
    <dd>
      <a href={explorerAddress(view)}>
        <Money of={sums?.cost_usd ?? 0} />
      </a>
    </dd>
    <dd class="sub">
      {plural(sums?.requests ?? 0, "request")},{" "}
      {plural((sums?.input_tokens ?? 0) + (sums?.output_tokens ?? 0), "token")}
    </dd>
  </div>
);

type Latencies = Pick<Total, "first_token_ms_p50" | "first_token_ms_p95" | "duration_ms_p50" | "duration_ms_p95">;

const Latency = ({ sums, name, view }: { sums: Latencies | undefined; name: string; view: ViewChange }) => (
  <div class="figure">
    <dt>First token {name}</dt>
    <dd>
      <a href={explorerAddress(view)}>{ms(sums?.first_token_ms_p50)}</a>
    </dd>
    <dd class="sub">
      95% within {ms(sums?.first_token_ms_p95)}; whole answers {ms(sums?.duration_ms_p50)} and{" "}
      {ms(sums?.duration_ms_p95)}
    </dd>
  </div>
);

const ms = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : formatMilliseconds(value);

const shown = 5;

const TopModels = ({ data: { models } }: { data: OverviewData }) => (
  <Card title="Models with the highest cost">
    {models.length === 0 ? (
      <Empty title="No requests in 30 days" />
    ) : (
      <Ranks
        of={models.slice(0, shown).map(({ value: id, cost_usd: cost }) => ({
          id: id ?? "",
          name: <a href={explorerAddress({ ...month, model: id ?? "", by: "key" })}>{id}</a>,
          value: Number(cost),
        }))}
        format={formatDollars}
      />
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
      {ranks.length === 0 ? <Empty title="Nothing spent this month" /> : <Ranks of={ranks} format={formatDollars} />}
    </Card>
  );
}

/** Address of the explorer with the requests of the last 30 days that have this HTTP status. */
const failuresAddress = (status: string): string => explorerAddress({ ...month, tab: "requests", status });

/** Lists keys near the end of their budget, and keys with refused requests, even if these have more budget left. */
const Budgets = ({ keys, refused }: { keys: readonly Key[]; refused: readonly Total[] }) => (
  <Card title="Budgets at their end">
    {keys.length === 0 && refused.length === 0 && <Empty title="No key is near its budget" />}
    {refused.length > 0 && (
      <ul class="ranks">
        {refused.slice(0, shown).map(({ value, name, requests }) => (
          <li key={value}>
            <a href={`/console/keys/${value ?? ""}`}>{name ?? value?.slice(0, 12)}</a>
            <a class="amount" href={explorerAddress({ ...month, tab: "requests", status: noBudget, key: value ?? "" })}>
              {plural(requests, "request")} refused
            </a>
          </li>
        ))}
      </ul>
    )}
    {keys.length > 0 && (
      <ul class="ranks">
        {keys.slice(0, shown).map((key) => (
          <li key={key.hash}>
            <a href={`/console/keys/${key.hash}`}>{key.name}</a>
            <Meter spent={budgetSpending(key)} limit={key.limit ?? null} />
          </li>
        ))}
      </ul>
    )}
  </Card>
);

const meanings: Readonly<Record<string, string>> = {
  400: "wrong request",
  401: "key unknown",
  402: "does not fit the budget",
  403: "refused by a guardrail, a rule or an administrator",
  404: "not found",
  408: "out of time",
  413: "too large",
  429: "too many requests, or a budget held for others",
  499: "client left",
  500: "fault of Sluice",
  502: "provider failed",
  503: "overloaded or unavailable",
  524: "provider too slow",
  529: "provider overloaded",
};

const Failures = ({ data: { failures } }: { data: OverviewData }) => (
  <Card title="What failed in 30 days" aside={<a href={explorerAddress({ ...month, tab: "errors" })}>Explorer</a>}>
    {failures.length === 0 ? (
      <Empty title="Nothing failed" />
    ) : (
      <Ranks of={failures.slice(0, shown).map(failureRank)} format={formatCount} />
    )}
  </Card>
);

const failureRank = ({ value, failures }: Total) => {
  const status = value ?? "no status";
  const words = [status, meanings[status]].filter(Boolean).join(" ");
  const name = value === null ? words : <a href={failuresAddress(value)}>{words}</a>;
  return { id: status, name, value: failures };
};
