/** Changes by administrators, latest first. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { CommitField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Failure, Show } from "../parts/state.tsx";
import { formatClock, plural } from "../parts/words.ts";
import { Difference } from "./difference.tsx";
import { Table } from "../parts/table.tsx";

type Entry = Schemas["AuditEntry"];

const pageSize = 50;

const filters = ["q", "action", "target", "actor", "from", "to", "cursor"] as const;
type Filter = Readonly<Record<(typeof filters)[number], string>>;

const orNothing = (text: string): string | undefined => (text === "" ? undefined : text);
/** The instant chosen in a field. @param text the field's text without seconds, read as UTC */
const instant = (text: string): string | undefined => (text === "" ? undefined : `${text}:00Z`);

const loadAudit = ({ q, action, target, actor, from, to, cursor }: Filter) => {
  const query = {
    q: orNothing(q),
    action: orNothing(action),
    target: orNothing(target),
    actor: orNothing(actor),
    from: instant(from),
    to: instant(to),
    cursor: orNothing(cursor),
    limit: pageSize,
  };
  return unwrapAnswer(api.GET("/audit", { params: { query } }));
};

const addressOf = (filter: Filter): string => {
  const query = new URLSearchParams(filters.flatMap((name) => (filter[name] === "" ? [] : [[name, filter[name]]])));
  return `/console/audit${query.size > 0 ? `?${query}` : ""}`;
};

/** Page of the audit log. The address of the page contains its filters. */
export function AuditPage() {
  const { query, route } = useLocation();
  const filter = Object.fromEntries(filters.map((name) => [name, query[name] ?? ""])) as Filter;
  const entries = useLoad(() => loadAudit(filter), [addressOf(filter)]);
  const bind = (name: keyof Filter) => ({
    value: filter[name],
    onValue: (value: string) => route(addressOf({ ...filter, cursor: "", [name]: value })),
  });
  return (
    <Page
      title="Audit log"
      lead="Every change, its author and its time, in UTC. Entries form a chain that shows later tampering."
      actions={<Check />}
    >
      <div class="toolbar">
        <CommitField label="Search" placeholder="name, id, action, person or address" {...bind("q")} />
        <CommitField label="From (UTC)" type="datetime-local" {...bind("from")} />
        <CommitField label="To (UTC)" type="datetime-local" {...bind("to")} />
      </div>
      {(filter.action || filter.target || filter.actor) && (
        <p class="facts-line">
          <span>Only {[filter.action, filter.target, filter.actor].filter(Boolean).join(", ")}</span>
          <a href="/console/audit">All entries</a>
        </p>
      )}
      <Card flush>
        <Show of={entries} lines={8}>
          {({ data, next_cursor: next }) => (
            <>
              {data.length === 0 ? <Empty title="No entry matches" /> : <AuditTable entries={data} />}
              <div class="pager">
                {filter.cursor === "" ? <span /> : <a href={addressOf({ ...filter, cursor: "" })}>Latest entries</a>}
                {next !== null && (
                  <a class="button small" href={addressOf({ ...filter, cursor: next })}>
                    Older <Icon name="right" size={16} />
                  </a>
                )}
              </div>
            </>
          )}
        </Show>
      </Card>
    </Page>
  );
}

function AuditTable({ entries }: { entries: readonly Entry[] }) {
  // Only the entry for a removal has the name of the removed record; the other entries about the record take the name from it.
  const names = new Map(entries.flatMap(({ target, target_name: name }) => (name === null ? [] : [[target, name]])));
  return (
    <Table columns={[["Change"], ["Actor", "wide"], ["Time (UTC)"]]}>
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
                {entry.address !== null && `, from ${entry.address}`}
              </p>
            </details>
          </th>
          <td class="wide">
            <Named id={entry.actor} name={entry.actor_name} />
          </td>
          <td class="amount">{formatClock(entry.at)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The name of a record, with its hash or id as the tooltip; for a record without a name, the start of the id. */
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
