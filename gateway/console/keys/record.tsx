/** A key: its spending, its settings and its actions. */
import { useState } from "preact/hooks";
import { explorerAddress } from "../explorer/address.ts";
import { api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { type Values, valuesOf } from "../forms/edits.ts";
import { RecordFields } from "../forms/record-fields.tsx";
import { keyForm } from "../forms/records.ts";
import { phrase } from "../forms/fields.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { ActionForm, Confirm, Dialog } from "../parts/dialog.tsx";
import { SelectField } from "../parts/field.tsx";
import { Meter } from "../parts/meter.tsx";
import { Show } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { showToast } from "../parts/toast.tsx";
import { formatExactDollars } from "../parts/words.ts";
import {
  type GuardrailAssignments,
  type Key,
  type KeyChange,
  assignGuardrail,
  loadKey,
  describeKeyState,
} from "./data.ts";
import { NewSecret } from "./make.tsx";
import { OwnGuardrail } from "./own-guardrail.tsx";

interface RecordProps {
  readonly hash: string;
  readonly guarding: GuardrailAssignments;
  readonly onChange: () => unknown;
  readonly onClose: () => void;
}

export function KeyRecord({ hash, guarding, onChange, onClose }: RecordProps) {
  const loaded = useLoad(() => loadKey(hash), [hash]);
  const changed = async () => {
    await loaded.reload();
    onChange();
  };
  return (
    <Dialog title={loaded.data?.name ?? "Key"} side onClose={onClose}>
      <Show of={loaded} lines={8}>
        {(key) => (
          <>
            <Facts record={key} />
            <Settings key={key.updated_at} record={key} guarding={guarding} onChange={changed} />
            <Deeds record={key} onChange={changed} onGone={onClose} onList={onChange} />
          </>
        )}
      </Show>
    </Dialog>
  );
}

function Facts({ record }: { record: Key }) {
  const { word, tone } = describeKeyState(record);
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        <span class={`badge ${tone}`}>{phrase(word)}</span>
      </dd>
      <dt>Spent</dt>
      <dd>
        <Meter spent={budgetSpending(record)} limit={record.limit ?? null} />
      </dd>
      <dt>Today, week, month</dt>
      <dd class="amount">
        {[record.usage_daily, record.usage_weekly, record.usage_monthly].map(formatExactDollars).join(" · ")}
      </dd>
      <dt>In all</dt>
      <dd class="amount">{formatExactDollars(record.usage)}</dd>
      <dt>Key</dt>
      <dd class="mono">{record.label}</dd>
      <dt>Hash</dt>
      <dd class="mono">{record.hash}</dd>
      <dt>Made</dt>
      <dd>
        <Time at={record.created_at} />
      </dd>
      {record.expires_at && (
        <>
          <dt>Expires</dt>
          <dd>
            <Time at={record.expires_at} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** USD spent by a key towards its budget; without a budget, all of its spending. */
export function budgetSpending(key: Key): number {
  const { limit, limit_remaining: left } = key;
  return limit === null || limit === undefined || left === null ? key.usage : Math.max(0, limit - left);
}

interface PartProps {
  readonly record: Key;
  readonly onChange: () => Promise<void>;
}

function Settings({
  record,
  guarding: { guardrails, held },
  onChange,
}: PartProps & { guarding: GuardrailAssignments }) {
  const assigned = held.get(record.hash);
  const [edits, setEdits] = useState<Values>({});
  const [guardrail, setGuardrail] = useState(assigned ?? "");
  const save = async () => {
    const path = { hash: record.hash };
    const body = edits as KeyChange;
    if (Object.keys(body).length > 0) await unwrapAnswer(api.PATCH("/keys/{hash}", { params: { path }, body }));
    if (guardrail !== (assigned ?? "")) await assignGuardrail(record.hash, assigned, guardrail);
    await onChange();
    showToast("Saved");
  };
  return (
    <section class="dialog-part">
      <h3>Settings</h3>
      <ActionForm label="Save" act={save} needs="operator">
        <RecordFields form={keyForm} before={valuesOf(keyForm, { ...record })} edits={edits} onEdits={setEdits} />
        <OwnGuardrail guardrails={guardrails} value={guardrail} onValue={setGuardrail} />
      </ActionForm>
    </section>
  );
}

type Deed = "rotate" | "revoke" | undefined;

function Deeds({ record, onChange, onGone, onList }: PartProps & { onGone: () => void; onList: () => unknown }) {
  const [deed, setDeed] = useState<Deed>();
  const [secret, setSecret] = useState("");
  const path = { hash: record.hash };
  const disable = async () => {
    await unwrapAnswer(api.PATCH("/keys/{hash}", { params: { path }, body: { disabled: !record.disabled } }));
    await onChange();
    showToast(record.disabled ? "The key works again" : "The key is refused from now on");
  };
  const revoke = async () => {
    await unwrapAnswer(api.DELETE("/keys/{hash}", { params: { path } }));
    await onList();
    onGone();
    showToast("The key is revoked");
  };
  return (
    <section class="dialog-part">
      <h3>Actions</h3>
      <div class="actions">
        <a class="button" href={explorerAddress({ key: record.hash })}>
          Spend
        </a>
        <a class="button" href={explorerAddress({ key: record.hash, tab: "requests" })}>
          Requests
        </a>
        <a class="button" href={`/console/audit?target=${record.hash}`}>
          Changes
        </a>
        <RequireRole to="operator">
          <button type="button" class="button" onClick={() => void disable()}>
            {record.disabled ? "Enable" : "Disable"}
          </button>
          <button type="button" class="button" onClick={() => setDeed("rotate")}>
            Rotate…
          </button>
          <button type="button" class="button danger" onClick={() => setDeed("revoke")}>
            Revoke…
          </button>
        </RequireRole>
      </div>
      {deed === "rotate" && (
        <Rotate
          record={record}
          onClose={() => setDeed(undefined)}
          onSecret={(made) => {
            setDeed(undefined);
            setSecret(made);
            onList();
          }}
        />
      )}
      {deed === "revoke" && (
        <Confirm
          title={`Revoke “${record.name}”?`}
          label="Revoke key"
          danger
          act={revoke}
          onClose={() => setDeed(undefined)}
        >
          <p>Requests with this key are refused at once, and for good. Records of what it has spent stay.</p>
        </Confirm>
      )}
      {secret !== "" && <NewSecret title={`“${record.name}” has a new key`} secret={secret} onClose={onGone} />}
    </section>
  );
}

const overlaps = [
  ["0", "At once"],
  ["3600", "In an hour"],
  ["86400", "In a day"],
  ["604800", "In a week"],
  ["2592000", "In 30 days"],
] as const;

interface RotateProps {
  readonly record: Key;
  readonly onSecret: (secret: string) => void;
  readonly onClose: () => void;
}

function Rotate({ record, onSecret, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState("86400");
  const rotate = async () => {
    const params = { path: { hash: record.hash } };
    const body = { overlap_seconds: Number(overlap) };
    onSecret((await unwrapAnswer(api.POST("/keys/{hash}/rotate", { params, body }))).key);
  };
  return (
    <Confirm title={`Rotate “${record.name}”`} label="Make new key" act={rotate} onClose={onClose}>
      <p>A new key is made with the same settings and the same guardrail. The old one works until then:</p>
      <SelectField label="The old key ends" value={overlap} onValue={setOverlap} options={overlaps} />
    </Confirm>
  );
}
