/** Keys of the workspace. */
import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { phrase } from "../forms/fields.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Meter } from "../parts/meter.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Money } from "../parts/money.tsx";
import { CursorPager } from "../parts/pager.tsx";
import { Empty, Failure, Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import {
  type GuardrailAssignments,
  type Key,
  type KeyOrder,
  keyOrders,
  loadGuardrailAssignments,
  loadKeys,
  pageSize,
  describeKeyState,
} from "./data.ts";
import { MakeKey } from "./make.tsx";
import { KeyRecord, budgetSpending } from "./record.tsx";
import { Table } from "../parts/table.tsx";

const unguarded: GuardrailAssignments = { guardrails: [], held: new Map() };

export function KeysPage() {
  const { route } = useLocation();
  const { params } = useRoute();
  const [q, setQ] = useState("");
  const [sort, setSort] = useState<KeyOrder>("-created");
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [making, setMaking] = useState(false);
  const keys = useLoad(() => loadKeys({ q: q.trim(), sort, cursor: cursors.at(-1) }), [q.trim(), sort, cursors]);
  const guards = useLoad(loadGuardrailAssignments);
  const guarding = guards.data ?? unguarded;
  const reload = () => Promise.all([keys.reload(), guards.reload()]);
  const fromStart = (set: (value: never) => void) => (value: string) => {
    setCursors([]);
    set(value as never);
  };
  const make = (
    <RequireRole to="operator">
      <button type="button" class="button primary" onClick={() => setMaking(true)}>
        <Icon name="plus" /> Make key
      </button>
    </RequireRole>
  );
  return (
    <Page
      title="Keys"
      lead="Programs call models with these. Each has its own budget, limits and guardrail."
      actions={make}
    >
      {guards.error && <Failure error={guards.error} retry={guards.reload} />}
      <div class="toolbar">
        <TextField label="Search by name or key" type="search" value={q} onValue={fromStart(setQ)} />
        <SelectField label="Order" value={sort} onValue={fromStart(setSort)} options={keyOrders} />
      </div>
      <Card flush>
        <Show of={keys} lines={6}>
          {({ keys: rows, total, next }) =>
            total === 0 ? (
              <Empty title={q === "" ? "No keys yet" : "No key has this in its name"}>
                {q === "" && <p>Make one for the first program that shall call a model.</p>}
              </Empty>
            ) : (
              <>
                <KeyTable keys={rows} guarding={guarding} />
                <CursorPager cursors={cursors} next={next} size={pageSize} total={total} onCursors={setCursors} />
              </>
            )
          }
        </Show>
      </Card>
      {making && <MakeKey guardrails={guarding.guardrails} onMade={reload} onClose={() => setMaking(false)} />}
      {params["hash"] !== undefined && guards.data && (
        <KeyRecord hash={params["hash"]} guarding={guarding} onChange={reload} onClose={() => route("/console/keys")} />
      )}
    </Page>
  );
}

const KeyTable = ({ keys, guarding }: { keys: readonly Key[]; guarding: GuardrailAssignments }) => (
  <Table
    columns={[
      ["Name"],
      ["Spent"],
      ["This month", "wide number"],
      ["Guardrail", "wide"],
      ["Expires", "wide"],
      ["State"],
    ]}
  >
    {keys.map((key) => (
      <KeyRow key={key.hash} record={key} guarding={guarding} />
    ))}
  </Table>
);

function KeyRow({ record, guarding: { guardrails, held } }: { record: Key; guarding: GuardrailAssignments }) {
  const { route } = useLocation();
  const { word, tone } = describeKeyState(record);
  const guardrail = guardrails.find(({ id }) => id === held.get(record.hash));
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => route(`/console/keys/${record.hash}`)}>
          {record.name}
        </button>
        <span class="sub mono">{record.label}</span>
      </th>
      <td>
        <Meter spent={budgetSpending(record)} limit={record.limit ?? null} />
      </td>
      <td class="wide number">
        <Money of={record.usage_monthly} />
      </td>
      <td class="wide">{guardrail ? guardrail.name : <span class="muted">None</span>}</td>
      <td class="wide">{record.expires_at ? <Time at={record.expires_at} /> : <span class="muted">Never</span>}</td>
      <td>
        <span class={`badge ${tone}`}>{phrase(word)}</span>
      </td>
    </tr>
  );
}
