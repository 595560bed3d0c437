/** The change of spend since the previous period, and the values that account for it. */
import { useState } from "preact/hooks";
import { api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Card } from "../parts/page.tsx";
import { Show } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { formatCount, formatDollars } from "../parts/words.ts";
import { type Explorer, explorerAddress } from "./address.ts";
import { changeQuery } from "./data.ts";

async function loadChange(explorer: Explorer) {
  return await unwrapAnswer(api.GET("/usage/change", { params: { query: changeQuery(explorer.view) } }));
}

type Change = Awaited<ReturnType<typeof loadChange>>;
type Part = Change["parts"][number];

/** Number of parts of a change listed at first; a button shows the rest. */
const fewParts = 5;

export function WhatChanged({ explorer, refreshes }: { explorer: Explorer; refreshes: number }) {
  const { view } = explorer;
  const inputs = explorerAddress({
    ...view,
    by: "",
    split: "",
    show: "",
    sort: "",
    cumulative: "",
    previous: "",
    cursor: "",
  });
  const change = useLoad(() => loadChange(explorer), [inputs, refreshes]);
  return (
    <Card title="What changed" flush>
      <Show of={change} lines={2}>
        {(data) => (
          <>
            <p class="change-summary">{data.summary}</p>
            {data.parts.length > 0 && <Parts parts={data.parts} explorer={explorer} />}
          </>
        )}
      </Show>
    </Card>
  );
}

function Parts({ parts, explorer }: { parts: readonly Part[]; explorer: Explorer }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? parts : parts.slice(0, fewParts);
  return (
    <>
      <Table
        columns={[
          ["Key"],
          ["Model"],
          ["Before", "wide number"],
          ["After", "wide number"],
          ["Difference", "number"],
          ["by requests", "wide number"],
          ["by tokens per request", "wide number"],
          ["by price per token", "wide number"],
        ]}
      >
        {shown.map((part) => (
          <PartRow key={`${part.key} ${part.model} ${part.is_other}`} part={part} explorer={explorer} />
        ))}
      </Table>
      {parts.length > shown.length && (
        <p class="table-foot">
          <button type="button" class="button small" onClick={() => setWhole(true)}>
            Show all {formatCount(parts.length)} parts
          </button>
        </p>
      )}
    </>
  );
}

function PartRow({ part, explorer: { addressWith } }: { part: Part; explorer: Explorer }) {
  const { key, key_name: name, model, is_other: other, before, after } = part;
  const narrowed = { ...(key !== null && { key }), ...(model !== null && { model }) };
  return (
    <tr>
      <th scope="row" class="value-name">
        {other ? "All others" : <a href={addressWith({ ...narrowed, by: "model" })}>{name ?? key?.slice(0, 12)}</a>}
      </th>
      <td class="value-name">{other ? "" : (model ?? <span class="muted">No model</span>)}</td>
      <td class="wide number">{formatDollars(Number(before.cost_usd))}</td>
      <td class="wide number">{formatDollars(Number(after.cost_usd))}</td>
      <td class="number">
        {other ? (
          <Signed usd={part.difference_usd} />
        ) : (
          <a class="figure-link" href={addressWith({ ...narrowed, tab: "requests", show: "list", sort: "" })}>
            <Signed usd={part.difference_usd} />
          </a>
        )}
      </td>
      <td class="wide number">
        <Signed usd={part.volume_usd} />
      </td>
      <td class="wide number">
        <Signed usd={part.tokens_usd} />
      </td>
      <td class="wide number">
        <Signed usd={part.price_usd} />
      </td>
    </tr>
  );
}

/** A cost difference with its sign; the tooltip shows all digits. */
const Signed = ({ usd }: { usd: string }) => {
  const amount = Number(usd);
  if (amount === 0) return <span class="muted">–</span>;
  return (
    <span title={`${usd} USD`}>
      {amount > 0 ? "+" : "−"}
      {formatDollars(Math.abs(amount))}
    </span>
  );
};
