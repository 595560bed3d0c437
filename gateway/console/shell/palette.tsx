/** Search over pages, keys, models and ids: Ctrl-K or Cmd-K from everywhere. */
import { useLocation } from "preact-iso";
import { useEffect, useId, useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { explorerAddress } from "../explorer/address.ts";
import { loadKeys } from "../keys/data.ts";
import { loadModels } from "../models/data.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Icon } from "../parts/icon.tsx";
import { requestAddress } from "../requests/address.ts";
import { isOpenTo, placeGroups } from "./places.ts";

export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return (
    <>
      <button
        type="button"
        class="button small palette-button"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen(true)}
      >
        <Icon name="search" size={16} /> Search <kbd>Ctrl K</kbd>
      </button>
      {isOpen && <Search onClose={() => setOpen(false)} />}
    </>
  );
}

interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly address: string;
}

const perKind = 5;

/** Keys and models with the text in their names. */
async function findRecords(text: string): Promise<Hit[]> {
  if (text === "") return [];
  const [{ keys }, { models }] = await Promise.all([
    loadKeys({ q: text, sort: "name", cursor: undefined }),
    loadModels({ q: text, sort: "", offset: 0 }),
  ]);
  return [
    ...keys.slice(0, perKind).map(({ hash, name, label }) => ({
      kind: "Key",
      name: name || label,
      address: `/console/keys/${hash}`,
    })),
    ...models.slice(0, perKind).map(({ id }) => ({ kind: "Model", name: id, address: `/console/models/${id}` })),
  ];
}

const generationId = /^gen-\w+$/;

function hitsOf(text: string, records: readonly Hit[]): Hit[] {
  const places = placeGroups.flatMap(([, group]) => group).filter(isOpenTo);
  const pages = places
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .map(({ name, path }) => ({ kind: "Page", name, address: path }));
  if (text === "") return pages;
  return [
    ...(generationId.test(text) ? [{ kind: "Request", name: text, address: requestAddress(text) }] : []),
    ...pages,
    ...records,
    { kind: "Requests", name: `with “${text}”`, address: explorerAddress({ tab: "requests", last: "30d", q: text }) },
  ];
}

function Search({ onClose }: { onClose: () => void }) {
  const { route } = useLocation();
  const [written, setText] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const text = written.trim();
  const records = useLoad(() => findRecords(text), [text]);
  const hits = hitsOf(text, text === "" ? [] : (records.data ?? []));
  const chosen = Math.min(at, hits.length - 1);
  const go = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    route(hit.address);
  };
  const press = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      setAt((chosen + move + hits.length) % Math.max(1, hits.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      go(hits[chosen]);
    }
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        class="input palette-input"
        {...({ role: "combobox" } as object)}
        aria-label="Pages, keys, models and ids"
        aria-expanded="true"
        aria-controls={`${id}-hits`}
        aria-activedescendant={hits.length > 0 ? `${id}-${chosen}` : undefined}
        placeholder="Page, key, model, or the id of a request"
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={written}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul class="palette" role="listbox" id={`${id}-hits`} aria-label="Found">
        {hits.map((hit, n) => (
          <li key={hit.address} id={`${id}-${n}`} role="option" aria-selected={n === chosen} onClick={() => go(hit)}>
            <span class="breakable">{hit.name}</span> <span class="muted">{hit.kind}</span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
