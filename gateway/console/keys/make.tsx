/** Creates a key, and shows its secret once. */
import { useState } from "preact/hooks";
import { api, unwrapAnswer } from "../api/client.ts";
import { type Values, valuesOf } from "../forms/edits.ts";
import { RecordFields } from "../forms/record-fields.tsx";
import { keyForm } from "../forms/records.ts";
import { CopyButton } from "../parts/copy.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import type { Guardrail } from "../guardrails/data.ts";
import { type NewKey, assignGuardrail } from "./data.ts";
import { OwnGuardrail } from "./own-guardrail.tsx";

interface MakeProps {
  readonly guardrails: readonly Guardrail[];
  readonly onMade: () => unknown;
  readonly onClose: () => void;
}

export function MakeKey({ guardrails, onMade, onClose }: MakeProps) {
  const [edits, setEdits] = useState<Values>({});
  const [guardrail, setGuardrail] = useState("");
  const [secret, setSecret] = useState("");
  const make = async () => {
    const { data, key } = await unwrapAnswer(api.POST("/keys", { body: edits as NewKey }));
    // The key is shown before anything else can fail: its secret cannot be read again.
    setSecret(key);
    onMade();
    if (guardrail === "") return;
    await assignGuardrail(data.hash, undefined, guardrail);
    onMade();
  };
  if (secret !== "")
    return <NewSecret title={`Key “${String(edits["name"])}” is made`} secret={secret} onClose={onClose} />;
  return (
    <Dialog title="Make a key" onClose={onClose}>
      <ActionForm label="Make key" act={make} onCancel={onClose}>
        <RecordFields form={keyForm} before={valuesOf(keyForm, undefined)} edits={edits} onEdits={setEdits} />
        <OwnGuardrail guardrails={guardrails} value={guardrail} onValue={setGuardrail} />
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
