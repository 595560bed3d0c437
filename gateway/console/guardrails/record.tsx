/** A guardrail: its rules, its keys, and its deletion. */
import { useState } from "preact/hooks";
import { explorerAddress } from "../explorer/address.ts";
import { api, unwrapAnswer } from "../api/client.ts";
import { type Values, valuesOf } from "../forms/edits.ts";
import { RecordFields } from "../forms/record-fields.tsx";
import { RequireRole } from "../parts/allowed.tsx";
import { ActionForm, Confirm, Dialog } from "../parts/dialog.tsx";
import { showToast } from "../parts/toast.tsx";
import { type Guardrail, type GuardrailChange, type NewGuardrail, guardrailFields } from "./data.ts";
import { Holders } from "./holders.tsx";
import { Trial } from "./trial.tsx";

interface RecordProps {
  readonly guardrail: Guardrail;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

export const GuardrailRecord = ({ guardrail, onChange, onClose }: RecordProps) => (
  <Dialog title={guardrail.name} side onClose={onClose}>
    <Rules key={guardrail.updated_at} guardrail={guardrail} onChange={onChange} />
    <Holders id={guardrail.id} onChange={onChange} />
    <End guardrail={guardrail} onChange={onChange} onClose={onClose} />
  </Dialog>
);

function Rules({ guardrail, onChange }: Omit<RecordProps, "onClose">) {
  const form = guardrailFields();
  const before = valuesOf(form, { ...guardrail });
  const [edits, setEdits] = useState<Values>({});
  const save = async () => {
    const params = { path: { id: guardrail.id } };
    const body = edits as GuardrailChange;
    if (Object.keys(body).length > 0) await unwrapAnswer(api.PATCH("/guardrails/{id}", { params, body }));
    await onChange();
    showToast("In force on the next request");
  };
  return (
    <>
      <ActionForm label="Save" act={save} needs="admin">
        {guardrail.account_default && <p class="note">Every key of every workspace is under this guardrail.</p>}
        <RecordFields form={form} before={before} edits={edits} onEdits={setEdits} />
      </ActionForm>
      <Trial settings={{ ...before, ...edits }} />
    </>
  );
}

function End({ guardrail, onChange, onClose }: RecordProps) {
  const [isConfirming, setConfirming] = useState(false);
  const remove = async () => {
    await unwrapAnswer(api.DELETE("/guardrails/{id}", { params: { path: { id: guardrail.id } } }));
    await onChange();
    onClose();
    showToast("The guardrail is deleted");
  };
  return (
    <section class="dialog-part">
      <div class="actions">
        <a class="button" href={explorerAddress({ guardrail: guardrail.id, tab: "requests", last: "30d" })}>
          Requests
        </a>
        <a class="button" href={`/console/audit?target=${guardrail.id}`}>
          Changes
        </a>
        <RequireRole to="admin">
          <button type="button" class="button danger" onClick={() => setConfirming(true)}>
            Delete…
          </button>
        </RequireRole>
      </div>
      {isConfirming && (
        <Confirm
          title={`Delete “${guardrail.name}”?`}
          label="Delete guardrail"
          danger
          act={remove}
          onClose={() => setConfirming(false)}
        >
          <p>Every key that holds it goes on without it, from the next request on.</p>
        </Confirm>
      )}
    </section>
  );
}

export function MakeGuardrail({ onMade, onClose }: { onMade: (id: string) => Promise<void>; onClose: () => void }) {
  const form = guardrailFields();
  const [edits, setEdits] = useState<Values>({});
  const make = async () => {
    const { data } = await unwrapAnswer(api.POST("/guardrails", { body: edits as NewGuardrail }));
    await onMade(data.id);
  };
  return (
    <Dialog title="Make a guardrail" side onClose={onClose}>
      <ActionForm label="Make guardrail" act={make} onCancel={onClose}>
        <RecordFields form={form} before={valuesOf(form, undefined)} edits={edits} onEdits={setEdits} />
      </ActionForm>
    </Dialog>
  );
}
