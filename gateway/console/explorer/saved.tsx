/** Saved views of the workspace: addresses of the explorer under names. */
import { useState } from "preact/hooks";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import { useLoad } from "../api/load.ts";
import { hasRole } from "../api/session.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Show } from "../parts/state.tsx";
import { showToast } from "../parts/toast.tsx";
import { type View, explorerAddress, explorerPath } from "./address.ts";
import { forgetLocalViews, localViews } from "./local-views.ts";

type SavedView = Schemas["View"];

export function SavedViews({ view }: { view: View }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Saved views
      </button>
      {isOpen && <ViewsDialog query={queryOf(view)} onClose={() => setOpen(false)} />}
    </>
  );
}

const queryOf = (view: View): string => explorerAddress({ ...view, cursor: "" }).slice(explorerPath.length + 1);

const addressOf = ({ query }: Pick<SavedView, "query">): string =>
  query === "" ? explorerPath : `${explorerPath}?${query}`;

const maxName = 64;

const loadViews = () => everyPage((query) => unwrapAnswer(api.GET("/views", { params: { query } })));

const saveView = (name: string, query: string) =>
  unwrapAnswer(api.PUT("/views/{name}", { params: { path: { name } }, body: { query } }));

function ViewsDialog({ query, onClose }: { query: string; onClose: () => void }) {
  const views = useLoad(loadViews);
  const [name, setName] = useState("");
  const save = async () => {
    await saveView(name.trim(), query);
    setName("");
    await views.reload();
  };
  const remove = async (each: SavedView) => {
    try {
      await unwrapAnswer(api.DELETE("/views/{name}", { params: { path: { name: each.name } } }));
    } catch (error) {
      showToast((error as Error).message);
    }
    await views.reload();
  };
  return (
    <Dialog title="Saved views" onClose={onClose}>
      <Show of={views} lines={3}>
        {(saved) => <ViewList views={saved} onOpen={onClose} onRemove={remove} />}
      </Show>
      {hasRole("operator") && <LocalViews onTaken={views.reload} />}
      <ActionForm label="Save this view" act={save} disabled={name.trim() === ""} needs="operator">
        <TextField
          label="Name"
          hint="Everyone in the workspace sees it. A view with the same name is replaced."
          value={name}
          onValue={setName}
          maxLength={maxName}
          required
        />
      </ActionForm>
    </Dialog>
  );
}

interface ListProps {
  readonly views: readonly SavedView[];
  readonly onOpen: () => void;
  readonly onRemove: (view: SavedView) => Promise<void>;
}

const ViewList = ({ views, onOpen, onRemove }: ListProps) =>
  views.length === 0 ? (
    <p class="muted">No saved views in this workspace.</p>
  ) : (
    <ul class="found" aria-label="Saved views">
      {views.map((each) => (
        <li key={each.name}>
          <p class="breakable">
            <a href={addressOf(each)} onClick={onOpen} title={`Saved by ${each.created_by}`}>
              {each.name}
            </a>
          </p>
          <CopyButton text={`${location.origin}${addressOf(each)}`} label="Copy link" />
          <RequireRole to="operator">
            <button
              type="button"
              class="button plain icon-only"
              aria-label={`Remove ${each.name}`}
              onClick={() => void onRemove(each)}
            >
              <Icon name="close" />
            </button>
          </RequireRole>
        </li>
      ))}
    </ul>
  );

/** Offers once to take over the views that an earlier build kept in this browser. */
function LocalViews({ onTaken }: { onTaken: () => Promise<void> }) {
  const [left, setLeft] = useState(localViews);
  if (left.length === 0) return null;
  const forget = () => {
    forgetLocalViews();
    setLeft([]);
  };
  const take = async () => {
    const known = new Set((await loadViews()).map(({ name }) => name));
    for (const { name, query } of left) if (!known.has(name)) await saveView(name, query);
    forget();
    await onTaken();
  };
  return (
    <ActionForm label="Move them to the workspace" act={take} onCancel={forget}>
      <p>
        This browser has views of its own: {left.map(({ name }) => name).join(", ")}. They can be moved to the
        workspace; a view whose name is taken there stays as it is. Cancel deletes them.
      </p>
    </ActionForm>
  );
}
