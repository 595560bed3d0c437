/** Guardrails of the workspace. */
import { modes } from "@sluice/proto/lib/policy/guardrail-words.js";
import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { phrase } from "../forms/fields.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { type Guardrail, loadGuardrails, rulesOf } from "./data.ts";
import { GuardrailRecord, MakeGuardrail } from "./record.tsx";
import { Table } from "../parts/table.tsx";

const path = "/console/guardrails";

export function GuardrailsPage() {
  const { route } = useLocation();
  const { params } = useRoute();
  const [making, setMaking] = useState(false);
  const guardrails = useLoad(loadGuardrails);
  const opened = guardrails.data?.find(({ id }) => id === params["id"]);
  const make = (
    <RequireRole to="admin">
      <button type="button" class="button primary" onClick={() => setMaking(true)}>
        <Icon name="plus" /> Make guardrail
      </button>
    </RequireRole>
  );
  const made = async (id: string) => {
    await guardrails.reload();
    setMaking(false);
    route(`${path}/${id}`);
  };
  return (
    <Page title="Guardrails" lead="Rules for what keys send and receive: block, redact or report." actions={make}>
      <Card flush>
        <Show of={guardrails} lines={6}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty title="No guardrails yet">
                <p>Make one to keep secrets away from models, or keys to models that you chose.</p>
              </Empty>
            ) : (
              <GuardrailTable guardrails={rows} />
            )
          }
        </Show>
      </Card>
      {making && <MakeGuardrail onMade={made} onClose={() => setMaking(false)} />}
      {opened && (
        <GuardrailRecord key={opened.id} guardrail={opened} onChange={guardrails.reload} onClose={() => route(path)} />
      )}
    </Page>
  );
}

function GuardrailTable({ guardrails }: { guardrails: readonly Guardrail[] }) {
  const { route } = useLocation();
  return (
    <Table columns={[["Name"], ["Rules", "wide"], ["Mode"], ["Applies to", "wide"], ["Changed", "wide"]]}>
      {guardrails.map((guardrail) => (
        <tr key={guardrail.id}>
          <th scope="row">
            <button type="button" class="link" onClick={() => route(`${path}/${guardrail.id}`)}>
              {guardrail.name}
            </button>
            {guardrail.description !== null && <span class="sub">{guardrail.description}</span>}
          </th>
          <td class="wide">{rulesOf(guardrail).join(", ") || <span class="muted">None</span>}</td>
          <td>
            <span class={modes.of(guardrail.mode).acts ? "badge good" : "badge"}>{phrase(guardrail.mode)}</span>
          </td>
          <td class="wide">{reachOf(guardrail)}</td>
          <td class="wide">
            <Time at={guardrail.updated_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function reachOf(guardrail: Guardrail): string {
  if (guardrail.account_default) return "All workspaces";
  return guardrail.workspace_default ? "All keys" : "Chosen keys";
}
