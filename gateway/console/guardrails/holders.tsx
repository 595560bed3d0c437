/** The keys assigned to a guardrail, chosen from all keys of the workspace. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { ActionForm } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { showToast } from "../parts/toast.tsx";
import { plural } from "../parts/words.ts";
import { type GuardrailKey, changeHolders, loadGuardrailKeys } from "./data.ts";

export function Holders({ id, onChange }: { id: string; onChange: () => unknown }) {
  const holders = useLoad(() => loadGuardrailKeys(id), [id]);
  const changed = async () => {
    await holders.reload();
    onChange();
  };
  return (
    <section class="dialog-part">
      <h3>Keys under it</h3>
      <Show of={holders}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty title="There are no keys yet" />
          ) : (
            <Choice key={keys.map(({ holds }) => holds).join()} id={id} keys={keys} onChange={changed} />
          )
        }
      </Show>
    </section>
  );
}

/** Maximum rows shown; the search finds the rest. */
const maxRows = 100;

interface ChoiceProps {
  readonly id: string;
  readonly keys: readonly GuardrailKey[];
  readonly onChange: () => Promise<void>;
}

function Choice({ id, keys, onChange }: ChoiceProps) {
  const [search, setSearch] = useState("");
  const [chosen, setChosen] = useState(() => new Set(keys.filter(({ holds }) => holds).map(({ hash }) => hash)));
  const found = keys.filter(({ name, label }) => `${name} ${label}`.toLowerCase().includes(search.toLowerCase()));
  const added = keys.filter(({ hash, holds }) => !holds && chosen.has(hash)).map(({ hash }) => hash);
  const removed = keys.filter(({ hash, holds }) => holds && !chosen.has(hash)).map(({ hash }) => hash);
  const choose = (hashes: readonly string[], on: boolean) => {
    const next = new Set(chosen);
    for (const hash of hashes) {
      if (on) next.add(hash);
      else next.delete(hash);
    }
    setChosen(next);
  };
  const save = async () => {
    await changeHolders(id, added, removed);
    await onChange();
    showToast(`In force: ${plural(chosen.size, "key")}`);
  };
  const every = found.every(({ hash }) => chosen.has(hash));
  return (
    <ActionForm
      label={`Apply to ${plural(chosen.size, "key")}`}
      act={save}
      needs="admin"
      disabled={added.length + removed.length === 0}
    >
      {keys.length > 8 && <TextField label="Search keys" type="search" value={search} onValue={setSearch} />}
      <label class="check">
        <input
          type="checkbox"
          checked={every}
          onChange={() =>
            choose(
              found.map(({ hash }) => hash),
              !every,
            )
          }
        />
        <span>All {search === "" ? "" : "found "}keys</span>
      </label>
      <ul class="choices">
        {found.slice(0, maxRows).map(({ hash, name, label }) => (
          <li key={hash}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.has(hash)}
                onChange={({ currentTarget }) => choose([hash], currentTarget.checked)}
              />
              <span>
                {name} <span class="sub mono">{label}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
      {found.length > maxRows && <p class="hint">{plural(found.length - maxRows, "more key")}: search to see them.</p>}
    </ActionForm>
  );
}
