/** End users: the people and systems behind requests. */
import { useState } from "preact/hooks";
import { explorerAddress } from "../explorer/address.ts";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { type Values, valuesOf } from "../forms/edits.ts";
import { RecordFields } from "../forms/record-fields.tsx";
import { endUserForm } from "../forms/records.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { ActionForm, Confirm, Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Card, Page } from "../parts/page.tsx";
import { CursorPager } from "../parts/pager.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { showToast } from "../parts/toast.tsx";
import { Table } from "../parts/table.tsx";

type EndUser = Schemas["EndUser"];

const pageSize = 50;

export function EndUsersPage() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [sought, setSought] = useState("");
  const [adding, setAdding] = useState(false);
  const [asked, setAsked] = useState<EndUser>();
  const user = sought.trim() === "" ? undefined : sought.trim();
  const query = { cursor: cursors.at(-1), limit: pageSize, include_inactive: true, user };
  const users = useLoad(() => unwrapAnswer(api.GET("/end-users", { params: { query } })), [cursors, user]);
  const add = (
    <RequireRole to="admin">
      <button type="button" class="button primary" onClick={() => setAdding(true)}>
        <Icon name="plus" /> Register end user
      </button>
    </RequireRole>
  );
  return (
    <Page
      title="End users"
      lead="People and systems that requests are made for, named by their field user."
      actions={add}
    >
      <div class="toolbar">
        <TextField
          label="Find by exact name"
          type="search"
          value={sought}
          onValue={(value) => {
            setCursors([]);
            setSought(value);
          }}
        />
      </div>
      <Card flush>
        <Show of={users} lines={6}>
          {({ data, total_count: total, next_cursor: next }) =>
            total === 0 ? (
              <Empty title={user === undefined ? "No end user is registered" : "Nobody has exactly this name"}>
                {user === undefined && (
                  <p>Requests are served either way, unless the configuration file enforces it.</p>
                )}
              </Empty>
            ) : (
              <>
                <UserTable users={data} onAsk={setAsked} />
                <CursorPager cursors={cursors} next={next} size={pageSize} total={total} onCursors={setCursors} />
              </>
            )
          }
        </Show>
      </Card>
      {adding && <Register onDone={users.reload} onClose={() => setAdding(false)} />}
      {asked && <Toggle user={asked} onDone={users.reload} onClose={() => setAsked(undefined)} />}
    </Page>
  );
}

/** The end users with the highest cost of the last 30 days. All others together have one sum. */
const loadSpending = async () =>
  (await unwrapAnswer(api.GET("/usage/series", { params: { query: { by: "user", limit: 100 } } }))).totals;

interface TableProps {
  readonly users: readonly EndUser[];
  readonly onAsk: (user: EndUser) => void;
}

function UserTable({ users, onAsk }: TableProps) {
  const totals = useLoad(loadSpending).data;
  const isWhole = totals?.every(({ is_other: other }) => !other) === true;
  const spentBy = (user: string) =>
    totals?.find(({ value }) => value === user)?.cost_usd ?? (isWhole ? "0" : undefined);
  return (
    <Table
      columns={[["Name"], ["Registered", "wide"], ["Cost of 30 days", "wide number"], ["State"], ["Actions", "unseen"]]}
    >
      {users.map((user) => (
        <tr key={user.user}>
          <th scope="row" class="breakable">
            <a href={explorerAddress({ user: user.user, tab: "requests" })}>{user.user}</a>
          </th>
          <td class="wide">
            <Time at={user.created_at} />
          </td>
          <td class="wide number">
            <Spent amount={spentBy(user.user)} />
          </td>
          <td>
            <span class={user.is_active ? "badge good" : "badge warn"}>{user.is_active ? "Active" : "Inactive"}</span>
          </td>
          <td class="number">
            <RequireRole to="admin">
              <button
                type="button"
                class="button small"
                aria-label={`${user.is_active ? "Deactivate" : "Activate"} ${user.user}`}
                onClick={() => onAsk(user)}
              >
                {user.is_active ? "Deactivate" : "Activate"}
              </button>
            </RequireRole>
          </td>
        </tr>
      ))}
    </Table>
  );
}

const Spent = ({ amount }: { amount: string | undefined }) =>
  amount === undefined ? <span class="muted">–</span> : <Money of={amount} />;

interface DialogProps {
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
}

function Register({ onDone, onClose }: DialogProps) {
  const [edits, setEdits] = useState<Values>({});
  const register = async () => {
    await unwrapAnswer(api.POST("/end-users", { body: edits as Schemas["NewEndUser"] }));
    await onDone();
    onClose();
    showToast("Registered");
  };
  return (
    <Dialog title="Register an end user" onClose={onClose}>
      <ActionForm label="Register" act={register} onCancel={onClose}>
        <RecordFields form={endUserForm} before={valuesOf(endUserForm, undefined)} edits={edits} onEdits={setEdits} />
      </ActionForm>
    </Dialog>
  );
}

function Toggle({ user: { user, is_active: active }, onDone, onClose }: DialogProps & { readonly user: EndUser }) {
  const change = async () => {
    const params = { path: { user } };
    await unwrapAnswer(api.PATCH("/end-users/{user}", { params, body: { is_active: !active } }));
    await onDone();
    onClose();
  };
  const verb = active ? "Deactivate" : "Activate";
  return (
    <Confirm title={`${verb} “${user}”?`} label={verb} danger={active} act={change} onClose={onClose}>
      <p>
        {active
          ? "Where the configuration file enforces end users, their requests are refused from now on."
          : "Their requests are served again."}
      </p>
    </Confirm>
  );
}
