/** Creates a key, and shows its secret once. */
import { useState } from "preact/hooks";
import { api, unwrapAnswer } from "../api/client.ts";
import { CopyButton } from "../parts/copy.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import type { Guardrail } from "../guardrails/data.ts";
import { assignGuardrail } from "./data.ts";
import { KeySettingFields, emptyDraft, toKeySettings } from "./settings.tsx";

interface MakeProps {
  readonly guardrails: readonly Guardrail[];
  readonly onMade: () => unknown;
  readonly onClose: () => void;
}

export function MakeKey({ guardrails, onMade, onClose }: MakeProps) {
  const [draft, setDraft] = useState(emptyDraft);
  const [secret, setSecret] = useState("");
  const make = async () => {
    const { external, ...settings } = toKeySettings(draft);
    const body = { ...settings, ...(external && { external }) };
    const { data, key } = await unwrapAnswer(api.POST("/keys", { body }));
    // The key is shown before anything else can fail: its secret cannot be read again.
    setSecret(key);
    onMade();
    if (draft.guardrail === "") return;
    await assignGuardrail(data.hash, undefined, draft.guardrail);
    onMade();
  };
  if (secret !== "")
    return <NewSecret title={`Key “${draft.name.trim()}” is made`} secret={secret} onClose={onClose} />;
  return (
    <Dialog title="Make a key" onClose={onClose}>
      <ActionForm label="Make key" act={make} onCancel={onClose}>
        <KeySettingFields draft={draft} onDraft={setDraft} guardrails={guardrails} />
      </ActionForm>
    </Dialog>
  );
}

/** Shows the secret of a key, for the only time. */
export const NewSecret = ({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) => (
  <Dialog title={title} onClose={onClose}>
    <p>Copy the key now. Only its hash is stored, so it cannot be shown again.</p>
    <div class="secret">
      <code>{secret}</code>
      <CopyButton text={secret} label="Copy key" />
    </div>
    <div class="form-foot">
      <button type="button" class="button primary" onClick={onClose}>
        Done
      </button>
    </div>
  </Dialog>
);
