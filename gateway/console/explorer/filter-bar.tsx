/** The filters of the explorer. Their values are in the page's address. */
import { useLoad } from "../api/load.ts";
import { loadModels, loadProviders } from "../models/data.ts";
import { queries } from "../gen/queries.ts";
import { CommitField, SelectField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { steps } from "../parts/time-steps.ts";
import { type Explorer, type FilterName, activeFilters, filterTitles, noFilters } from "./address.ts";
import { type ValueNames, valueName } from "./names.ts";
import { defaultPreset, presets, rangeOf, toAddressTime } from "./time.ts";

interface BarProps {
  readonly explorer: Explorer;
  readonly names: ValueNames;
}

export function FilterBar({ explorer, names }: BarProps) {
  const { view, change } = explorer;
  const active = activeFilters(view);
  return (
    <div class="filter-bar">
      <div class="toolbar">
        <PeriodField explorer={explorer} />
        <SelectField
          label="Interval"
          value={rangeOf(view, Date.now()).step}
          onValue={(step) => change({ step })}
          options={steps.map((step) => [step, sentence(step)])}
        />
        <CommitField
          label="Search"
          value={view.q}
          onValue={(q) => change({ q })}
          placeholder="key, model, error, any id"
        />
      </div>
      <details class="more filters">
        <summary>Filters{active.length > 0 && ` (${active.length})`}</summary>
        <FilterFields explorer={explorer} names={names} />
      </details>
      {(active.length > 0 || view.q !== "") && (
        <ul class="chips" aria-label="Filters in force">
          {active.map((name) => (
            <Chip
              key={name}
              title={filterTitles[name]}
              text={valueName(name, view[name], names)}
              clear={() => change({ [name]: "" })}
            />
          ))}
          {view.q !== "" && <Chip title="Search" text={view.q} clear={() => change({ q: "" })} />}
          <li>
            <button type="button" class="button small plain" onClick={() => change(noFilters)}>
              Clear filters
            </button>
          </li>
        </ul>
      )}
    </div>
  );
}

const sentence = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

const Chip = ({ title, text, clear }: { title: string; text: string; clear: () => void }) => (
  <li class="chip">
    <span>
      {title}: <strong>{text}</strong>
    </span>
    <button type="button" aria-label={`Remove ${title} ${text}`} onClick={clear}>
      <Icon name="close" size={14} />
    </button>
  </li>
);

const custom = "custom";

/** The field for the period: a preset, or a first and a last moment in UTC. */
function PeriodField({ explorer: { view, change } }: { explorer: Explorer }) {
  const isCustom = view.from !== "";
  const value = isCustom ? custom : view.last === "" ? defaultPreset : view.last;
  const known = presets.some(([name]) => name === value) || isCustom;
  const choose = (last: string) => {
    if (last !== custom) return change({ last: last === defaultPreset ? "" : last, from: "", to: "", step: "" });
    const { from, to } = rangeOf(view, Date.now());
    return change({ last: "", from: toAddressTime(from), to: toAddressTime(to) });
  };
  const options = [...presets, ...(known ? [] : [[value, value] as const]), [custom, "Custom…"] as const];
  return (
    <>
      <SelectField label="Period" value={value} onValue={choose} options={options} />
      {isCustom && (
        <>
          <CommitField
            label="From (UTC)"
            type="datetime-local"
            value={fieldTime(view.from)}
            onValue={(from) => from && change({ from })}
          />
          <CommitField
            label="To (UTC)"
            type="datetime-local"
            value={fieldTime(view.to)}
            onValue={(to) => change({ to })}
          />
        </>
      )}
    </>
  );
}

const fieldTime = (text: string): string => (/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text.slice(0, 16));

const statuses = ["2xx", "4xx", "5xx"];

function FilterFields({ explorer: { view, change }, names }: BarProps) {
  const models = useLoad(() => loadModels({ q: "", sort: "", offset: 0 }));
  const providers = useLoad(loadProviders);
  const text = (name: FilterName, choices?: readonly string[]) => (
    <CommitField
      label={filterTitles[name]}
      value={view[name]}
      onValue={(value) => change({ [name]: value })}
      {...(choices && { choices })}
    />
  );
  const choice = (name: FilterName, options: readonly (readonly [string, string])[]) => (
    <SelectField
      label={filterTitles[name]}
      value={view[name]}
      onValue={(value) => change({ [name]: value })}
      options={[["", "All"], ...withChosen(options, view[name], (value) => valueName(name, value, names))]}
    />
  );
  const words = (values: readonly string[]) => values.map((value) => [value, value] as const);
  return (
    <div class="toolbar">
      {choice("key", [...names.keys])}
      {text("model", models.data?.models.map(({ id }) => id) ?? [])}
      {text("provider", providers.data?.map(({ slug }) => slug) ?? [])}
      {text("status", statuses)}
      {text("error")}
      {text("user")}
      {text("session")}
      {choice("guardrail", [...names.guardrails])}
      {choice("door", words(queries.listGenerations.door))}
      {text("fallback", providers.data?.map(({ slug }) => slug) ?? [])}
      {text("task")}
      {text("tags")}
    </div>
  );
}

/** Adds the value in the address to the choices if it is missing, such as a revoked key. */
function withChosen(
  options: readonly (readonly [string, string])[],
  value: string,
  nameOf: (value: string) => string,
): readonly (readonly [string, string])[] {
  return value === "" || options.some(([each]) => each === value) ? options : [...options, [value, nameOf(value)]];
}
