/** Changes by administrators, latest first. */
import { useState } from "preact/hooks";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { TextField } from "../parts/field.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Failure, Show } from "../parts/state.tsx";
import { Steps } from "../parts/steps.tsx";
import { Time } from "../parts/time.tsx";
import { plural } from "../parts/words.ts";
import { Difference } from "./difference.tsx";
import { Table } from "../parts/table.tsx";

type Entry = Schemas["AuditEntry"];

const pageSize = 50;

interface Filter {
  readonly action: string;
  readonly target: string;
  readonly actor: string;
}

const orNothing = (text: string): string | undefined => (text.trim() === "" ? undefined : text.trim());

const loadAudit = ({ action, target, actor }: Filter, cursor: string | undefined) => {
  const query = {
    action: orNothing(action),
    target: orNothing(target),
    actor: orNothing(actor),
    cursor,
    limit: pageSize,
  };
  return unwrapAnswer(api.GET("/audit", { params: { query } }));
};

export function AuditPage() {
  const [filter, setFilter] = useState<Filter>({ action: "", target: "", actor: "" });
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const entries = useLoad(() => loadAudit(filter, cursors.at(-1)), [filter, cursors]);
  const bind = (name: keyof Filter) => ({
    value: filter[name],
    onValue: (value: string) => {
      setCursors([]);
      setFilter({ ...filter, [name]: value });
    },
  });
  return (
    <Page
      title="Audit log"
      lead="Every change, its author and its time. Entries form a chain that shows later tampering."
      actions={<Check />}
    >
      <div class="toolbar">
        <TextField label="Action" type="search" placeholder="keys.create" {...bind("action")} />
        <TextField label="Target" type="search" placeholder="Hash or id" {...bind("target")} />
        <TextField label="Actor" type="search" placeholder="Person, hash or cli" {...bind("actor")} />
      </div>
      <Card flush>
        <Show of={entries} lines={8}>
          {({ data, next_cursor: next }) => (
            <>
              {data.length === 0 ? <Empty title="No entry like this" /> : <AuditTable entries={data} />}
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
    </Page>
  );
}

function AuditTable({ entries }: { entries: readonly Entry[] }) {
  // Entries about a record's removal name it for the other entries.
  const names = new Map(entries.flatMap(({ target, target_name: name }) => (name === null ? [] : [[target, name]])));
  return (
    <Table columns={[["Change"], ["Actor", "wide"], ["When"]]}>
      {entries.map((entry) => (
        <tr key={`${entry.workspace_id} ${entry.sequence}`} class="top">
          <th scope="row">
            <details>
              <summary>
                <strong>{entry.action}</strong>{" "}
                <Named id={entry.target} name={entry.target_name ?? names.get(entry.target)} />
              </summary>
              <Difference before={entry.before} after={entry.after} />
              <p class="hint mono">
                entry {entry.sequence}, {entry.request_id ?? "no request"}
              </p>
            </details>
          </th>
          <td class="wide">
            <Named id={entry.actor} name={entry.actor_name} />
          </td>
          <td>
            <Time at={entry.at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** A name with the hash or id as its tooltip; without a name, the start of the id. */
const Named = ({ id, name }: { id: string | null; name: string | null | undefined }) =>
  name ? (
    <span title={id ?? undefined}>{name}</span>
  ) : (
    <span class="mono muted" title={id ?? undefined}>
      {id !== null && isPerson(id) ? id : short(id)}
    </span>
  );

const isPerson = (actor: string): boolean => actor.includes("@");

const short = (text: string | null): string => {
  if (text === null) return "erased";
  return text.length > 24 ? `${text.slice(0, 12)}…` : text;
};

type State = Schemas["AuditState"];

function Check() {
  const [states, setStates] = useState<readonly State[]>();
  const [error, setError] = useState<Error>();
  const check = async () => {
    setError(undefined);
    try {
      setStates((await unwrapAnswer(api.GET("/audit/verify", {}))).data);
    } catch (failure) {
      setError(failure as Error);
    }
  };
  const wrong = states?.flatMap((state) => state.wrong) ?? [];
  return (
    <>
      <span role="status">
        {states && wrong.length === 0 && (
          <span class="badge good">
            Whole:{" "}
            {plural(
              states.reduce((sum, { entries }) => sum + entries, 0),
              "entry",
              "entries",
            )}
          </span>
        )}
        {wrong.length > 0 && <span class="badge danger">Tampered with: entries {wrong.join(", ")}</span>}
      </span>
      {error && <Failure error={error} />}
      <button type="button" class="button" onClick={() => void check()}>
        Check chain
      </button>
    </>
  );
}
