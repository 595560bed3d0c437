/** The form that sets an alert on a view of the explorer. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { type View, filterTitles } from "../explorer/address.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { ActionForm, Dialog } from "../parts/dialog.tsx";
import { CheckField, SelectField, TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Show } from "../parts/state.tsx";
import { showToast } from "../parts/toast.tsx";
import { type RuleSettings, conditionOf, conditions, filtersOfView, loadChannels, putRule } from "./data.ts";

export function SetAlert({ view }: { view: View }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <RequireRole to="operator">
      <button type="button" class="button" onClick={() => setOpen(true)}>
        <Icon name="bell" /> Set an alert
      </button>
      {isOpen && <AlertDialog filters={filtersOfView(view)} onClose={() => setOpen(false)} />}
    </RequireRole>
  );
}

interface DialogProps {
  readonly filters: NonNullable<RuleSettings["filters"]>;
  readonly onClose: () => void;
}

function AlertDialog({ filters, onClose }: DialogProps) {
  const channels = useLoad(loadChannels);
  const shown = Object.entries(filters).map(([name, value]) => `${titleOf(name)} ${value}`);
  return (
    <Dialog title="Set an alert" onClose={onClose}>
      <p class="breakable">
        {shown.length === 0 ? "On all usage of the workspace." : `On usage with ${shown.join(", ")}.`}
      </p>
      <Show of={channels} lines={3}>
        {(known) =>
          known.length === 0 ? (
            <p>
              No channel is configured: add a webhook or Slack to <code>alerts</code> in the configuration file (
              <a href="/docs/operate/alerts">how</a>).
            </p>
          ) : (
            <AlertForm filters={filters} channels={known.map(({ name }) => name)} onDone={onClose} />
          )
        }
      </Show>
    </Dialog>
  );
}

const titleOf = (name: string): string => filterTitles[name as keyof typeof filterTitles] ?? name;

interface FormProps {
  readonly filters: NonNullable<RuleSettings["filters"]>;
  readonly channels: readonly string[];
  readonly onDone: () => void;
}

function AlertForm({ filters, channels, onDone }: FormProps) {
  const [name, setName] = useState("");
  const [condition, setCondition] = useState<RuleSettings["condition"]>("error_rate");
  const [threshold, setThreshold] = useState("5");
  const [minutes, setMinutes] = useState("15");
  const [fewest, setFewest] = useState("10");
  const [chosen, setChosen] = useState<readonly string[]>(channels.slice(0, 1));
  const [, title, unit] = conditionOf(condition);
  const save = async () => {
    await putRule(name.trim(), {
      filters,
      condition,
      ...(condition !== "provider_down" && { threshold: Number(threshold) }),
      window_minutes: Number(minutes),
      min_requests: Number(fewest),
      channels: [...chosen],
    });
    showToast(`The alert ${name.trim()} is set.`);
    onDone();
  };
  return (
    <ActionForm label="Set alert" act={save} disabled={name.trim() === "" || chosen.length === 0} needs="operator">
      <TextField label="Name" value={name} onValue={setName} maxLength={64} required />
      <SelectField
        label="Condition"
        value={condition}
        onValue={(word) => setCondition(word as RuleSettings["condition"])}
        options={conditions.map(([word, text]) => [word, text])}
      />
      {unit !== "" && (
        <TextField
          label={`${title} (${unit})`}
          type="number"
          min="0"
          step="any"
          value={threshold}
          onValue={setThreshold}
          required
        />
      )}
      <TextField label="Window in minutes" type="number" min="5" value={minutes} onValue={setMinutes} required />
      <TextField label="Fewest requests" type="number" min="1" value={fewest} onValue={setFewest} required />
      <fieldset>
        <legend>Channels</legend>
        {channels.map((each) => (
          <CheckField
            key={each}
            label={each}
            checked={chosen.includes(each)}
            onChecked={(checked) => setChosen(checked ? [...chosen, each] : chosen.filter((one) => one !== each))}
          />
        ))}
      </fieldset>
    </ActionForm>
  );
}
