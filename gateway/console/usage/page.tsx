/** Usage by day, with changes since the period before. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { Bars } from "../parts/bars.tsx";
import { Money } from "../parts/money.tsx";
import { SelectField } from "../parts/field.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatCount, formatDollars, formatFirstTokenTimes, formatPercent } from "../parts/words.ts";
import { csvOf, download } from "./csv.ts";
import {
  type Measure,
  type Total,
  type Unit,
  type Usage,
  toBars,
  seriesKey,
  loadUsage,
  measures,
  seriesName,
  units,
  measureValue,
} from "./data.ts";
import { Table } from "../parts/table.tsx";

const lengths = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "A year"],
] as const;

export function UsagePage() {
  const [length, setLength] = useState("30");
  const [by, setBy] = useState<Unit>("model");
  const [measure, setMeasure] = useState<Measure>("cost");
  const usage = useLoad(() => loadUsage(Number(length), by), [length, by]);
  const unit = units.find(([value]) => value === by)?.[1] ?? "";
  const save = (
    <button
      type="button"
      class="button"
      disabled={!usage.data}
      onClick={() => usage.data && download(`usage-by-${by}.csv`, csvOf(rowsOf(usage.data, by)))}
    >
      Download CSV
    </button>
  );
  return (
    <Page title="Usage" lead="Sums of the ledger by day, in UTC." actions={save}>
      <div class="toolbar">
        <SelectField label="Period" value={length} onValue={setLength} options={lengths} />
        <SelectField label="By" value={by} onValue={(value) => setBy(value as Unit)} options={units} />
        <SelectField
          label="Show"
          value={measure}
          onValue={(value) => setMeasure(value as Measure)}
          options={measures}
        />
      </div>
      <Show of={usage} lines={8}>
        {(data) =>
          data.totals.length === 0 ? (
            <Card flush>
              <Empty title="No requests in this time" />
            </Card>
          ) : (
            <>
              <Card>
                <Bars title={`${unit} by day`} {...toBars(data, measure)} format={formatOf(measure)} />
              </Card>
              <Card flush>
                <Totals usage={data} unit={unit} measure={measure} />
              </Card>
            </>
          )
        }
      </Show>
    </Page>
  );
}

const formatOf = (measure: Measure) => (measure === "cost" ? formatDollars : formatCount);

function rowsOf({ points }: Usage, by: Unit): (string | number)[][] {
  const head = ["day", by, "cost_usd", "requests", "failures", "input_tokens", "output_tokens"];
  return [
    head,
    ...points.map((point) => [
      point.at.slice(0, 10),
      seriesName(point),
      point.cost_usd,
      point.requests,
      point.failures,
      point.input_tokens,
      point.output_tokens,
    ]),
  ];
}

const Totals = ({ usage, unit, measure }: { usage: Usage; unit: string; measure: Measure }) => (
  <Table
    columns={[
      [unit],
      [measures.find(([value]) => value === measure)?.[1] ?? "", "number"],
      ["Change", "number"],
      ["Requests", "wide number"],
      ["Failures", "wide number"],
      ["First token p50 / p95", "wide number"],
    ]}
  >
    {usage.totals.map((total) => (
      <tr key={seriesKey(total)}>
        <th scope="row" class="breakable">
          {seriesName(total)}
        </th>
        <td class="number">
          {measure === "cost" ? <Money of={total.cost_usd} /> : formatCount(measureValue(total, measure))}
        </td>
        <td class="number">{changeOf(total, usage.before, measure)}</td>
        <td class="wide number">{formatCount(total.requests)}</td>
        <td class="wide number">{formatCount(total.failures)}</td>
        <td class="wide number">{formatFirstTokenTimes(total)}</td>
      </tr>
    ))}
  </Table>
);

/** A value missing from the earlier list is new only if that list is complete. */
function changeOf(total: Total, before: Usage["before"], measure: Measure) {
  const earlier = before.get(seriesKey(total));
  if (earlier === undefined && before.has("other")) return <span class="muted">–</span>;
  return <Change now={total} before={earlier} measure={measure} />;
}

function Change({ now, before, measure }: { now: Total; before: Total | undefined; measure: Measure }) {
  const was = before ? measureValue(before, measure) : 0;
  const is = measureValue(now, measure);
  if (was === 0) return <span class="muted">{is === 0 ? "–" : "new"}</span>;
  const change = is / was - 1;
  return (
    <span title={`${formatOf(measure)(was)} in the time before`}>
      {change > 0 ? "+" : ""}
      {formatPercent(change)}
    </span>
  );
}
