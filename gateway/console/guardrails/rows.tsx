/** Extensible lists of patterns and of rules in words. */
import { Icon } from "../parts/icon.tsx";
import type { Action, PatternDraft, RuleDraft } from "./draft.ts";
import { actions } from "./actions.ts";

interface RowsProps<Row> {
  readonly rows: readonly Row[];
  readonly onRows: (rows: readonly Row[]) => void;
}

const replaced = <Row,>(rows: readonly Row[], at: number, part: Partial<Row>): Row[] =>
  rows.map((row, n) => (n === at ? { ...row, ...part } : row));

export const Patterns = ({ rows, onRows }: RowsProps<PatternDraft>) => (
  <div class="rows">
    {rows.map((row, n) => (
      <div key={n} class="row-fields">
        <input
          class="input code grow"
          aria-label={`Pattern ${n + 1}`}
          placeholder="(?i)project\s+falcon"
          required
          value={row.pattern}
          onInput={({ currentTarget }) => onRows(replaced(rows, n, { pattern: currentTarget.value }))}
        />
        <input
          class="input label"
          aria-label={`Label of pattern ${n + 1}`}
          placeholder="Label"
          maxLength={100}
          value={row.label}
          onInput={({ currentTarget }) => onRows(replaced(rows, n, { label: currentTarget.value }))}
        />
        <ActionChoice
          name={`Action of pattern ${n + 1}`}
          value={row.action}
          options={actions}
          onValue={(action) => onRows(replaced(rows, n, { action }))}
        />
        <Remove name={`Remove pattern ${n + 1}`} act={() => onRows(rows.filter((_, other) => other !== n))} />
      </div>
    ))}
    <Add name="Add pattern" act={() => onRows([...rows, { pattern: "", action: "block", label: "" }])} />
  </div>
);

export const Rules = ({ rows, onRows }: RowsProps<RuleDraft>) => (
  <div class="rows">
    {rows.map((row, n) => (
      <div key={n} class="row-fields">
        <input
          class="input grow"
          aria-label={`Rule ${n + 1}`}
          placeholder="Gives no legal advice"
          required
          maxLength={500}
          value={row.rule}
          onInput={({ currentTarget }) => onRows(replaced(rows, n, { rule: currentTarget.value }))}
        />
        <ActionChoice
          name={`Action of rule ${n + 1}`}
          value={row.action}
          options={actions.filter(([action]) => action !== "redact")}
          onValue={(action) => onRows(replaced(rows, n, { action: action as RuleDraft["action"] }))}
        />
        <Remove name={`Remove rule ${n + 1}`} act={() => onRows(rows.filter((_, other) => other !== n))} />
      </div>
    ))}
    <Add name="Add rule" act={() => onRows([...rows, { rule: "", action: "block", threshold: "" }])} />
  </div>
);

interface ChoiceProps {
  readonly name: string;
  readonly value: Action;
  readonly options: readonly (readonly [Action, string])[];
  readonly onValue: (action: Action) => void;
}

const ActionChoice = ({ name, value, options, onValue }: ChoiceProps) => (
  <select
    class="input short"
    aria-label={name}
    value={value}
    onChange={({ currentTarget }) => onValue(currentTarget.value as Action)}
  >
    {options.map(([action, word]) => (
      <option key={action} value={action}>
        {word}
      </option>
    ))}
  </select>
);

const Remove = ({ name, act }: { name: string; act: () => void }) => (
  <button type="button" class="button plain icon-only" aria-label={name} onClick={act}>
    <Icon name="close" />
  </button>
);

const Add = ({ name, act }: { name: string; act: () => void }) => (
  <button type="button" class="button small" onClick={act}>
    <Icon name="plus" size={16} /> {name}
  </button>
);
