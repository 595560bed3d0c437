/** Workspaces, each with separate keys, guardrails and budget. */
import { useState } from "preact/hooks";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { changedSettings } from "../api/edited.ts";
import { useLoad } from "../api/load.ts";
import { hasRole, session } from "../api/session.ts";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Meter } from "../parts/meter.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { showToast } from "../parts/toast.tsx";
import { Table } from "../parts/table.tsx";

type Workspace = Schemas["Workspace"];

const pageSize = 50;

export function WorkspacesPage() {
  const [offset, setOffset] = useState(0);
  const [edited, setEdited] = useState<Workspace | "new">();
  const query = { offset, limit: pageSize };
  const workspaces = useLoad(() => unwrapAnswer(api.GET("/workspaces", { params: { query } })), [offset]);
  const ofAccount = session.value?.account === true;
  const changes = ofAccount && hasRole("admin");
  const make = changes && (
    <button type="button" class="button primary" onClick={() => setEdited("new")}>
      <Icon name="plus" /> Make workspace
    </button>
  );
  const lead = ofAccount
    ? "Each has its own keys, guardrails, end users and budget."
    : "Your own workspace. A management key of the account sees and changes all of them.";
  return (
    <Page title="Workspaces" lead={lead} actions={make}>
      <Card flush>
        <Show of={workspaces} lines={4}>
          {({ data, total_count: total }) => (
            <>
              <WorkspaceTable workspaces={data} onEdit={changes ? setEdited : undefined} />
              <Pager offset={offset} size={pageSize} total={total} onOffset={setOffset} />
            </>
          )}
        </Show>
      </Card>
      {edited !== undefined && (
        <Editor
          workspace={edited === "new" ? undefined : edited}
          onDone={workspaces.reload}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Page>
  );
}

interface TableProps {
  readonly workspaces: readonly Workspace[];
  readonly onEdit: ((workspace: Workspace) => void) | undefined;
}

const WorkspaceTable = ({ workspaces, onEdit }: TableProps) => (
  <Table columns={[["Name"], ["Spent"], ["Budget begins anew", "wide"], ["Made", "wide"]]}>
    {workspaces.map((workspace) => (
      <tr key={workspace.id}>
        <th scope="row">
          {onEdit ? (
            <button type="button" class="link" onClick={() => onEdit(workspace)}>
              {workspace.name}
            </button>
          ) : (
            <strong>{workspace.name}</strong>
          )}
          <span class="sub mono">{workspace.id}</span>
        </th>
        <td>
          <Meter spent={spentIn(workspace)} limit={workspace.limit} />
        </td>
        <td class="wide">{workspace.limit_reset ?? "never"}</td>
        <td class="wide">
          <Time at={workspace.created_at} />
        </td>
      </tr>
    ))}
  </Table>
);

const spentIn = ({ limit, limit_remaining: left, usage }: Workspace): number =>
  limit === null || left === null ? usage : Math.max(0, limit - left);

interface EditorProps {
  readonly workspace: Workspace | undefined;
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
}

/** Texts of the fields in the API's form; an empty text means unset. */
const settingsIn = ({ name, limit, reset }: Readonly<Record<"name" | "limit" | "reset", string>>) => ({
  name: name.trim(),
  limit: limit === "" ? null : Number(limit),
  limit_reset: limit === "" || reset === "" ? null : (reset as "daily" | "weekly" | "monthly"),
});

function Editor({ workspace, onDone, onClose }: EditorProps) {
  const shown = settingsIn({
    name: workspace?.name ?? "",
    limit: workspace?.limit?.toString() ?? "",
    reset: workspace?.limit_reset ?? "",
  });
  const [name, setName] = useState(workspace?.name ?? "");
  const [limit, setLimit] = useState(workspace?.limit?.toString() ?? "");
  const [reset, setReset] = useState<string>(workspace?.limit_reset ?? "");
  const save = async () => {
    const settings = settingsIn({ name, limit, reset });
    if (workspace) {
      const body = changedSettings(settings, shown);
      if (Object.keys(body).length > 0) {
        await unwrapAnswer(api.PATCH("/workspaces/{id}", { params: { path: { id: workspace.id } }, body }));
      }
    } else await unwrapAnswer(api.POST("/workspaces", { body: settings }));
    await onDone();
    onClose();
    showToast("Saved");
  };
  return (
    <Dialog title={workspace ? workspace.name : "Make a workspace"} onClose={onClose}>
      <ActionForm label="Save" act={save} onCancel={onClose}>
        <TextField label="Name" required maxLength={200} value={name} onValue={setName} />
        <div class="pair">
          <TextField
            label="Budget in USD"
            hint="Shared by its keys; empty: any amount"
            type="number"
            min="0"
            step="any"
            value={limit}
            onValue={setLimit}
          />
          <SelectField
            label="Budget begins anew"
            value={reset}
            onValue={setReset}
            options={[
              ["", "Never"],
              ["daily", "Every day"],
              ["weekly", "Every Monday"],
              ["monthly", "On the first of the month"],
            ]}
          />
        </div>
      </ActionForm>
    </Dialog>
  );
}
