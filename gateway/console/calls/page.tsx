/** Requests to models, latest first. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { SelectField, TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Steps } from "../parts/steps.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { formatCount, formatMilliseconds } from "../parts/words.ts";
import { loadKeyNames } from "../keys/data.ts";
import { type Call, type CallFilter, loadCalls, noFilter, outcomes } from "./data.ts";
import { OutcomeBadge } from "./outcome-badge.tsx";
import { CallRecord } from "./record.tsx";
import { Table } from "../parts/table.tsx";

export function CallsPage() {
  const { query } = useLocation();
  const [filter, setFilter] = useState<CallFilter>(() => ({ ...noFilter, ...query }));
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [opened, setOpened] = useState<Call>();
  const calls = useLoad(() => loadCalls(filter, cursors.at(-1)), [filter, cursors]);
  const change = (part: Partial<CallFilter>) => {
    setCursors([]);
    setFilter({ ...filter, ...part });
  };
  const refresh = (
    <button type="button" class="button" onClick={() => void calls.reload()}>
      <Icon name="refresh" /> Refresh
    </button>
  );
  return (
    <Page title="Calls" lead="Every request to a model, also those that were refused, and why." actions={refresh}>
      <Filters filter={filter} change={change} />
      <Card flush>
        <Show of={calls} lines={8}>
          {({ data, next_cursor: next }) => (
            <>
              {data.length === 0 ? (
                <Empty title="No requests like this">
                  <p>They appear here within two seconds of their end.</p>
                </Empty>
              ) : (
                <CallTable calls={data} onOpen={setOpened} />
              )}
              <Steps
                isFirst={cursors.length === 0}
                next={next}
                onBack={() => setCursors(cursors.slice(0, -1))}
                onNext={(cursor) => setCursors([...cursors, cursor])}
              />
            </>
          )}
        </Show>
      </Card>
      {opened && <CallRecord call={opened} onClose={() => setOpened(undefined)} />}
    </Page>
  );
}

interface FiltersProps {
  readonly filter: CallFilter;
  readonly change: (part: Partial<CallFilter>) => void;
}

function Filters({ filter, change }: FiltersProps) {
  const bind = (name: keyof CallFilter) => ({
    value: filter[name],
    onValue: (value: string) => change({ [name]: value }),
  });
  return (
    <>
      <div class="toolbar">
        <SelectField label="Period" options={periods} {...bind("hours")} />
        <SelectField
          label="Outcome"
          options={[["", "All"], ...outcomes.map((outcome) => [outcome, outcome] as const)]}
          {...bind("outcome")}
        />
        <TextField label="Model" type="search" placeholder="author/model" {...bind("model")} />
        <KeyField {...bind("key")} />
      </div>
      <details class="more filters" open={rare.some((name) => filter[name] !== "")}>
        <summary>More filters</summary>
        <div class="toolbar">
          <TextField label="Status" type="number" min="100" placeholder="403" {...bind("status")} />
          <TextField label="Provider" type="search" {...bind("provider")} />
          <TextField label="End user" type="search" {...bind("user")} />
          <TextField label="Session" type="search" {...bind("session")} />
          <TextField label="Request id" type="search" {...bind("request")} />
        </div>
      </details>
    </>
  );
}

/** Filters folded away until one of them is used. */
const rare = ["status", "provider", "user", "session", "request"] as const;

/** A choice of key names; a key without a name here, such as a revoked key, is listed by the start of its hash. */
function KeyField({ value, onValue }: { readonly value: string; readonly onValue: (value: string) => void }) {
  const names = useLoad(loadKeyNames).data ?? new Map<string, string>();
  const others = value === "" || names.has(value) ? [] : [[value, value.slice(0, 12)] as const];
  return <SelectField label="Key" value={value} onValue={onValue} options={[["", "All"], ...names, ...others]} />;
}

const periods = [
  ["", "All on record"],
  ["1", "Last hour"],
  ["24", "Last day"],
  ["168", "Last 7 days"],
  ["720", "Last 30 days"],
] as const;

const CallTable = ({ calls, onOpen }: { calls: readonly Call[]; onOpen: (call: Call) => void }) => (
  <Table
    columns={[
      ["Model"],
      ["Key", "wide"],
      ["Outcome"],
      ["Tokens", "wide number"],
      ["Cost", "number"],
      ["Took", "wide number"],
      ["When", "wide"],
    ]}
  >
    {calls.map((call) => (
      <tr key={call.id}>
        <th scope="row">
          <button type="button" class="link" onClick={() => onOpen(call)}>
            {call.model ?? call.requested_model ?? "No model"}
          </button>
          <span class="sub">{call.rule ?? call.provider_error ?? call.error_type ?? call.provider}</span>
        </th>
        <td class="wide">{call.key_name ?? <span class="mono">{call.key_hash.slice(0, 12)}</span>}</td>
        <td>
          <OutcomeBadge outcome={call.outcome} status={call.status} />
        </td>
        <td class="wide number">
          {formatCount(call.input_tokens)} <span class="muted">in</span> {formatCount(call.output_tokens)}{" "}
          <span class="muted">out</span>
        </td>
        <td class="number">
          <Money of={call.cost_usd} />
        </td>
        <td class="wide number">{formatMilliseconds(call.duration_ms)}</td>
        <td class="wide">
          <Time at={call.created_at} />
        </td>
      </tr>
    ))}
  </Table>
);
