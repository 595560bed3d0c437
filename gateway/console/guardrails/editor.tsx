/** The settings of a guardrail in a form. */
import { AreaField, CheckField, SelectField, TextField } from "../parts/field.tsx";
import { actions } from "./actions.ts";
import { type GuardrailDraft, builtins } from "./draft.ts";
import { Patterns, Rules } from "./rows.tsx";

export interface EditorProps {
  readonly draft: GuardrailDraft;
  readonly onDraft: (draft: GuardrailDraft) => void;
}

export function GuardrailEditor({ draft, onDraft }: EditorProps) {
  const change = (part: Partial<GuardrailDraft>) => onDraft({ ...draft, ...part });
  return (
    <>
      <TextField label="Name" required maxLength={200} value={draft.name} onValue={(name) => change({ name })} />
      <TextField label="What it is for" value={draft.description} onValue={(description) => change({ description })} />
      <Behaviour draft={draft} change={change} />
      <fieldset class="group">
        <legend>Detectors</legend>
        <Builtins draft={draft} change={change} />
      </fieldset>
      <fieldset class="group">
        <legend>Patterns</legend>
        <Patterns rows={draft.patterns} onRows={(patterns) => change({ patterns })} />
      </fieldset>
      <fieldset class="group">
        <legend>Rules in words</legend>
        <Rules rows={draft.rules} onRows={(rules) => change({ rules })} />
      </fieldset>
      <details class="more">
        <summary>Models, regions and budget</summary>
        <Routing draft={draft} change={change} />
      </details>
    </>
  );
}

interface PartProps {
  readonly draft: GuardrailDraft;
  readonly change: (part: Partial<GuardrailDraft>) => void;
}

const Behaviour = ({ draft, change }: PartProps) => (
  <>
    <div class="pair">
      <SelectField
        label="Mode"
        value={draft.mode}
        onValue={(mode) => change({ mode: mode as GuardrailDraft["mode"] })}
        options={[
          ["enforce", "Enforce"],
          ["audit", "Report only"],
        ]}
      />
      <SelectField
        label="Looks at"
        value={draft.applies}
        onValue={(applies) => change({ applies: applies as GuardrailDraft["applies"] })}
        options={[
          ["input", "Requests"],
          ["output", "Answers"],
          ["both", "Both"],
        ]}
      />
      <SelectField
        label="If a scan fails"
        value={draft.onError}
        onValue={(onError) => change({ onError: onError as GuardrailDraft["onError"] })}
        options={[
          ["closed", "Refuse"],
          ["open", "Let pass"],
        ]}
      />
    </div>
    <TextField
      label="Message when it blocks"
      hint="Empty: the rule is named"
      maxLength={500}
      value={draft.message}
      onValue={(message) => change({ message })}
    />
    <CheckField
      label="Every key of the workspace is under it"
      hint="Beside the guardrail that a key holds itself; the strictest wins."
      checked={draft.everywhere}
      onChecked={(everywhere) => change({ everywhere })}
    />
  </>
);

const Builtins = ({ draft, change }: PartProps) => (
  <ul class="rows">
    {builtins.map(([slug, name]) => (
      <li key={slug} class="row-line">
        <label for={`detector-${slug}`}>{name}</label>
        <select
          id={`detector-${slug}`}
          class="input short"
          value={draft.builtins[slug] ?? ""}
          onChange={({ currentTarget: { value } }) =>
            change({ builtins: { ...draft.builtins, [slug]: value === "" ? undefined : value } })
          }
        >
          <option value="">Off</option>
          {actions.map(([action, word]) => (
            <option key={action} value={action}>
              {word}
            </option>
          ))}
        </select>
      </li>
    ))}
  </ul>
);

const Routing = ({ draft, change }: PartProps) => (
  <div class="form">
    <div class="pair">
      <AreaField
        label="Allowed models"
        hint="One slug a line; empty: all"
        code
        rows={3}
        value={draft.models}
        onValue={(models) => change({ models })}
      />
      <AreaField
        label="Allowed providers"
        hint="One slug a line; empty: all"
        code
        rows={3}
        value={draft.providers}
        onValue={(providers) => change({ providers })}
      />
    </div>
    <CheckField label="Only providers in Europe" checked={draft.europe} onChecked={(europe) => change({ europe })} />
    <CheckField label="Only providers in the United States" checked={draft.us} onChecked={(us) => change({ us })} />
    <div class="pair">
      <TextField
        label="Budget of each key in USD"
        hint="Empty: any amount"
        type="number"
        min="0"
        step="any"
        value={draft.limit}
        onValue={(limit) => change({ limit })}
      />
      <SelectField
        label="Budget begins anew"
        value={draft.reset}
        onValue={(reset) => change({ reset })}
        options={[
          ["", "Never"],
          ["daily", "Every day"],
          ["weekly", "Every Monday"],
          ["monthly", "On the first of the month"],
        ]}
      />
    </div>
  </div>
);
