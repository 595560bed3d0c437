/** Views of the explorer under names of a person's choice, kept in this browser for each workspace. A view is its address, which others can open as well. */
import { useState } from "preact/hooks";
import { session } from "../api/session.ts";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { type View, explorerAddress, explorerPath } from "./address.ts";

interface SavedView {
  readonly name: string;
  readonly address: string;
}

const storageName = (): string => `sluice-views ${session.peek()?.workspace.id ?? ""}`;

/** Storage of the browser may hold anything. */
function readViews(): readonly SavedView[] {
  try {
    const kept = JSON.parse(localStorage.getItem(storageName()) ?? "[]") as readonly Partial<SavedView>[];
    return kept.flatMap(({ name, address }) =>
      typeof name === "string" && address?.startsWith(explorerPath) === true ? [{ name, address }] : [],
    );
  } catch {
    return [];
  }
}

export function SavedViews({ view }: { view: View }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        Saved views
      </button>
      {isOpen && <ViewsDialog address={explorerAddress({ ...view, cursor: "" })} onClose={() => setOpen(false)} />}
    </>
  );
}

const maxName = 100;

function ViewsDialog({ address, onClose }: { address: string; onClose: () => void }) {
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState("");
  const keep = (next: readonly SavedView[]) => {
    localStorage.setItem(storageName(), JSON.stringify(next));
    setViews(next);
  };
  const save = (): Promise<void> => {
    const saved = { name: name.trim(), address };
    const others = views.filter((each) => each.name !== saved.name);
    keep([...others, saved].toSorted((one, other) => one.name.localeCompare(other.name)));
    setName("");
    return Promise.resolve();
  };
  return (
    <Dialog title="Saved views" onClose={onClose}>
      {views.length === 0 ? (
        <p class="muted">None yet in this browser.</p>
      ) : (
        <ul class="found" aria-label="Saved views">
          {views.map((each) => (
            <li key={each.name}>
              <p class="breakable">
                <a href={each.address} onClick={onClose}>
                  {each.name}
                </a>
              </p>
              <CopyButton text={`${location.origin}${each.address}`} label="Copy link" />
              <button
                type="button"
                class="button plain icon-only"
                aria-label={`Remove ${each.name}`}
                onClick={() => keep(views.filter(({ name: other }) => other !== each.name))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <ActionForm label="Save this view" act={save} disabled={name.trim() === ""}>
        <TextField
          label="Name"
          hint="Kept in this browser. The link of a view shows it to others."
          value={name}
          onValue={setName}
          maxLength={maxName}
          required
        />
      </ActionForm>
    </Dialog>
  );
}
