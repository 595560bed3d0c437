/** Workspaces, each with separate keys, guardrails and budget. */
import { useState } from "preact/hooks";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { hasRole, session } from "../api/session.ts";
import { openWorkspace } from "../api/workspace.ts";
import { type Values, valuesOf } from "../forms/edits.ts";
import { RecordFields } from "../forms/record-fields.tsx";
import { workspaceForm } from "../forms/records.ts";
import { ActionForm, Confirm, Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { Meter } from "../parts/meter.tsx";
import { Card, Page } from "../parts/page.tsx";
import { CursorPager } from "../parts/pager.tsx";
import { Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { showToast } from "../parts/toast.tsx";
import { Table } from "../parts/table.tsx";

type Workspace = Schemas["Workspace"];

const pageSize = 50;

export function WorkspacesPage() {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [edited, setEdited] = useState<Workspace | "new">();
  const [deleted, setDeleted] = useState<Workspace>();
  const query = { cursor: cursors.at(-1), limit: pageSize };
  const workspaces = useLoad(() => unwrapAnswer(api.GET("/workspaces", { params: { query } })), [cursors]);
  const ofAccount = session.value?.account === true;
  const changes = ofAccount && hasRole("admin");
  const make = changes && (
    <button type="button" class="button primary" onClick={() => setEdited("new")}>
      <Icon name="plus" /> Make workspace
    </button>
  );
  const lead = ofAccount
    ? "Each team has its own keys, guardrails, end users and budget. Open one to work in it."
    : "Your own workspace. A management key of the account sees and changes all of them.";
  return (
    <Page title="Workspaces" lead={lead} actions={make}>
      <Card flush>
        <Show of={workspaces} lines={4}>
          {({ data, total_count: total, next_cursor: next }) => (
            <>
              <WorkspaceTable
                workspaces={data}
                onEdit={changes ? setEdited : undefined}
                onDelete={changes ? setDeleted : undefined}
              />
              <CursorPager cursors={cursors} next={next} size={pageSize} total={total} onCursors={setCursors} />
            </>
          )}
        </Show>
      </Card>
      {deleted && <Deletion workspace={deleted} onDone={workspaces.reload} onClose={() => setDeleted(undefined)} />}
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
  readonly onDelete: ((workspace: Workspace) => void) | undefined;
}

const WorkspaceTable = ({ workspaces, onEdit, onDelete }: TableProps) => (
  <Table columns={[["Name"], ["Spent"], ["Resets", "wide"], ["Created", "wide"], ["Actions", "unseen"]]}>
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
        {session.value?.account === true && (
          <td>
            <button type="button" class="button small" onClick={() => openWorkspace(workspace.id)}>
              Open
            </button>{" "}
            {onDelete && workspace.id !== session.value?.workspace.id && (
              <button type="button" class="button small plain" onClick={() => onDelete(workspace)}>
                Delete
              </button>
            )}
          </td>
        )}
      </tr>
    ))}
  </Table>
);

interface DeletionProps {
  readonly workspace: Workspace;
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
}

function Deletion({ workspace: { id, name }, onDone, onClose }: DeletionProps) {
  const remove = async () => {
    await unwrapAnswer(api.DELETE("/workspaces/{id}", { params: { path: { id } } }));
    await onDone();
    onClose();
    showToast("Deleted");
  };
  return (
    <Confirm title={`Delete “${name}”?`} label="Delete workspace" danger act={remove} onClose={onClose}>
      <p>
        Its keys are refused from the next request on, and its guardrails and captured contents are deleted. This cannot
        be undone.
      </p>
      <p>Its records and audit log stay.</p>
    </Confirm>
  );
}

const spentIn = ({ limit, limit_remaining: left, usage }: Workspace): number =>
  limit === null || left === null ? usage : Math.max(0, limit - left);

interface EditorProps {
  readonly workspace: Workspace | undefined;
  readonly onDone: () => Promise<void>;
  readonly onClose: () => void;
}

function Editor({ workspace, onDone, onClose }: EditorProps) {
  const before = valuesOf(workspaceForm, workspace && { ...workspace });
  const [edits, setEdits] = useState<Values>({});
  const save = async () => {
    if (!workspace) await unwrapAnswer(api.POST("/workspaces", { body: edits as Schemas["NewWorkspace"] }));
    else if (Object.keys(edits).length > 0) {
      await unwrapAnswer(api.PATCH("/workspaces/{id}", { params: { path: { id: workspace.id } }, body: edits }));
    }
    await onDone();
    onClose();
    showToast("Saved");
  };
  return (
    <Dialog title={workspace ? workspace.name : "Make a workspace"} onClose={onClose}>
      <ActionForm label="Save" act={save} onCancel={onClose}>
        <RecordFields form={workspaceForm} before={before} edits={edits} onEdits={setEdits} />
      </ActionForm>
    </Dialog>
  );
}
