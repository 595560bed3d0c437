/** Available models and their providers. */
import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { SelectField, TextField } from "../parts/field.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatCount } from "../parts/words.ts";
import { type Model, loadModels, modelsPerPage, perMillion, sorts } from "./data.ts";
import { ModelRecord } from "./endpoints.tsx";
import { Providers } from "./providers.tsx";
import { Table } from "../parts/table.tsx";

export function ModelsPage() {
  const { route } = useLocation();
  const { params } = useRoute();
  const [q, setQ] = useState("");
  const [sort, setSort] = useState("");
  const [offset, setOffset] = useState(0);
  const models = useLoad(() => loadModels({ q: q.trim(), sort, offset }), [q.trim(), sort, offset]);
  const search = (set: (value: string) => void) => (value: string) => {
    setOffset(0);
    set(value);
  };
  return (
    <Page title="Models" lead="What keys can ask for here, at which price, and how the providers behind it are doing.">
      <Providers />
      <div class="toolbar spaced">
        <TextField label="Search models" type="search" value={q} onValue={search(setQ)} />
        <SelectField label="Order" value={sort} onValue={search(setSort)} options={sorts} />
      </div>
      <Card flush>
        <Show of={models} lines={8}>
          {({ models: rows, total }) =>
            total === 0 ? (
              <Empty title={q === "" ? "No models are configured" : "No model has this in its name"}>
                {q === "" && (
                  <p>
                    <a href="/console/providers">Add a provider</a>, and its models are here.
                  </p>
                )}
              </Empty>
            ) : (
              <>
                <ModelTable models={rows} />
                <Pager
                  offset={offset}
                  size={modelsPerPage}
                  total={total}
                  onBack={offset === 0 ? undefined : () => setOffset(offset - modelsPerPage)}
                  onNext={offset + modelsPerPage >= total ? undefined : () => setOffset(offset + modelsPerPage)}
                />
              </>
            )
          }
        </Show>
      </Card>
      {params["author"] !== undefined && params["slug"] !== undefined && (
        <ModelRecord author={params["author"]} slug={params["slug"]} onClose={() => route("/console/models")} />
      )}
    </Page>
  );
}

function ModelTable({ models }: { models: readonly Model[] }) {
  const { route } = useLocation();
  return (
    <>
      <Table
        columns={[["Model"], ["Context", "wide number"], ["Input", "number"], ["Output", "number"], ["Takes", "wide"]]}
      >
        {models.map(({ id, name, context_length: context, pricing, architecture }) => (
          <tr key={id}>
            <th scope="row">
              <button type="button" class="link" onClick={() => route(`/console/models/${id}`)}>
                {name}
              </button>
              <span class="sub mono">{id}</span>
            </th>
            <td class="wide number">{formatCount(context)}</td>
            <td class="number">{perMillion(pricing.prompt)}</td>
            <td class="number">{perMillion(pricing.completion)}</td>
            <td class="wide">{architecture.input_modalities.join(", ")}</td>
          </tr>
        ))}
      </Table>
      <p class="table-foot">Prices are for a million tokens.</p>
    </>
  );
}
