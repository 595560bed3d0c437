/** Sessions with requests in a period, latest first. */
import { useLocation } from "preact-iso";
import { api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { CommitField, SelectField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { formatClock, formatCount, formatDuration } from "../parts/words.ts";
import { sessionAddress, sessionsAddress } from "../requests/address.ts";

const pageSize = 50;
const dayMs = 86_400_000;

const periods = [
  ["1", "Last 24 hours"],
  ["7", "Last 7 days"],
  ["30", "Last 30 days"],
  ["90", "Last 90 days"],
] as const;
const defaultDays = "7";

async function loadSessions(days: string, tags: string, cursor: string | undefined) {
  const from = new Date(Date.now() - Number(days) * dayMs).toISOString();
  const query = { from, cursor, limit: pageSize, ...(tags !== "" && { tags }) };
  return await unwrapAnswer(api.GET("/sessions", { params: { query } }));
}

type Listed = Awaited<ReturnType<typeof loadSessions>>["data"][number];

/** Page of sessions. Its address contains the period, the tags and the list's page. */
export function SessionsPage() {
  const { query, route } = useLocation();
  const days = periods.find(([each]) => each === query["days"])?.[0] ?? defaultDays;
  const tags = query["tags"]?.trim() ?? "";
  const cursor = query["cursor"];
  const addressWith = (change: { days?: string; tags?: string; cursor?: string }) => {
    const view = { days, tags, ...change };
    return sessionsAddress({ ...view, days: view.days === defaultDays ? "" : view.days });
  };
  const sessions = useLoad(() => loadSessions(days, tags, cursor), [days, tags, cursor]);
  return (
    <Page
      title="Sessions"
      lead="Conversations and runs of agents: requests that name the same session_id. All times are UTC."
    >
      <div class="toolbar">
        <SelectField
          label="Period"
          value={days}
          onValue={(value) => route(addressWith({ days: value }))}
          options={periods}
        />
        <CommitField
          label="Tags"
          value={tags}
          onValue={(value) => route(addressWith({ tags: value.trim() }))}
          placeholder="team=search, env=prod"
        />
      </div>
      <Card flush>
        <Show of={sessions} lines={8}>
          {({ data, next_cursor: next }) => (
            <>
              {data.length === 0 ? <NoSessions /> : <SessionTable sessions={data} />}
              <div class="pager">
                {cursor === undefined ? <span /> : <a href={addressWith({})}>Latest sessions</a>}
                {next !== null && (
                  <a class="button small" href={addressWith({ cursor: next })}>
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

const NoSessions = () => (
  <Empty title="No sessions in this period">
    <p>
      A request belongs to a session by its <code>session_id</code>, or by the header of an agent.
    </p>
  </Empty>
);

const lengthOf = ({ first_at: first, last_at: last }: Listed): number => Date.parse(last) - Date.parse(first);

const SessionTable = ({ sessions }: { sessions: readonly Listed[] }) => (
  <Table
    columns={[
      ["Session"],
      ["Key", "wide"],
      ["Models", "wide"],
      ["Last request (UTC)", "wide"],
      ["Duration", "wide number"],
      ["Requests", "number"],
      ["Failures", "wide number"],
      ["Cost", "number"],
    ]}
  >
    {sessions.map((each) => (
      <tr key={each.id} class="row-link">
        <th scope="row" class="value-name">
          <a href={sessionAddress(each.id)}>{each.id}</a>
        </th>
        <td class="wide">
          <a class="above" href={`/console/keys/${each.key_hash}`}>
            {each.key_name ?? each.key_hash.slice(0, 12)}
          </a>
        </td>
        <td class="wide">{each.models.join(", ")}</td>
        <td class="wide amount">{formatClock(each.last_at)}</td>
        <td class="wide number">{each.requests > 1 ? formatDuration(lengthOf(each)) : "–"}</td>
        <td class="number">{formatCount(each.requests)}</td>
        <td class="wide number">{formatCount(each.failures)}</td>
        <td class="number">
          <Money of={each.cost_usd} />
        </td>
      </tr>
    ))}
  </Table>
);
