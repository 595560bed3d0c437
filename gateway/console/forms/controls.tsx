/** The controls of a form: one for each kind of field. */
import { type ComponentType, type JSX } from "preact";
import { useState } from "preact/hooks";
import { CheckField, Field as Labelled, SelectField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { type FormField, type TextKind, phrase, wordsOf } from "./fields.ts";
import { isText, textOf, valueOfText } from "./texts.ts";

export interface ControlProps {
  readonly field: FormField;
  readonly value: unknown;
  readonly onValue: (value: unknown) => void;
  readonly disabled?: boolean;
}

type TextProps = Omit<ControlProps, "field"> & {
  readonly field: FormField & { readonly kind: TextKind };
  /** HTML attributes of the element, such as its id or label. */
  readonly attributes: object;
};

const inputTypes: Readonly<Partial<Record<TextKind, string>>> = { number: "number", time: "datetime-local" };

/** The limits of the value, enforced by the browser. */
const limitsOf = ({ schema, kind, required }: FormField) => ({
  required: required || undefined,
  ...(kind === "number"
    ? {
        min: schema["minimum"] as number,
        max: schema["maximum"] as number,
        step: schema["type"] === "integer" ? 1 : "any",
      }
    : { maxLength: schema["maxLength"] as number }),
});

/** A text to edit. It stays as typed, since an unfinished text may be no valid value. */
function Text({ field, value, onValue, disabled, attributes }: TextProps) {
  const [before] = useState(() => value);
  const [text, setText] = useState(() => textOf(field, value));
  const edit = (element: HTMLInputElement | HTMLTextAreaElement) => {
    setText(element.value);
    try {
      onValue(valueOfText(field, element.value, before));
      element.setCustomValidity("");
    } catch (error) {
      element.setCustomValidity((error as Error).message);
    }
  };
  const common = { ...attributes, disabled, spellcheck: false, value: text };
  const isArea = field.kind === "lines" || field.kind === "pairs" || field.kind === "json";
  return isArea ? (
    <textarea {...common} class="input code" rows={3} onInput={({ currentTarget }) => edit(currentTarget)} />
  ) : (
    <input
      class={field.kind === "code" ? "input code" : "input"}
      autocomplete="off"
      {...common}
      {...limitsOf(field)}
      type={(inputTypes[field.kind] ?? "text") as "text"}
      onInput={({ currentTarget }) => edit(currentTarget)}
    />
  );
}

const TextControl = ({ field, ...props }: ControlProps) => (
  <Labelled label={field.label} hint={field.hint}>
    {(ids) => <Text {...props} field={field as TextProps["field"]} attributes={ids} />}
  </Labelled>
);

const CheckControl = (props: ControlProps) => {
  const { field, value, onValue } = props;
  if (field.clears) return <ChoiceControl {...props} />;
  return <CheckField label={field.label} {...hinted(field)} checked={value === true} onChecked={onValue} />;
};

const hinted = ({ hint }: FormField) => (hint === undefined ? {} : { hint });

/** The label for null, taken from the field's hint: "Empty: never" gives "Never". */
const emptyChoice = ({ hint }: FormField): string => phrase(/Empty: ([^.,;]+)/.exec(hint ?? "")?.[1] ?? "not set");

/** Choices of a field: each value with its label. */
const optionsOf = (field: FormField): readonly (readonly [string, string])[] => {
  const words = field.kind === "check" ? ["true", "false"] : wordsOf(field);
  const named = words.map(
    (word) => [word, field.kind === "check" ? (word === "true" ? "Yes" : "No") : phrase(word)] as const,
  );
  return field.clears ? [["", emptyChoice(field)], ...named] : named;
};

/** The chosen word of a field. A new record has the first word, which is the default. */
const choiceText = (field: FormField, value: unknown): string =>
  typeof value === "string" || typeof value === "boolean" ? String(value) : (optionsOf(field)[0]?.[0] ?? "");

const choiceValue = ({ kind }: FormField, text: string): unknown => {
  if (text === "") return null;
  return kind === "check" ? text === "true" : text;
};

const ChoiceControl = ({ field, value, onValue, disabled }: ControlProps) => (
  <SelectField
    label={field.label}
    {...hinted(field)}
    value={choiceText(field, value)}
    disabled={disabled === true}
    options={optionsOf(field)}
    onValue={(text) => onValue(choiceValue(field, text))}
  />
);

/** Check boxes for a field with several words of a short list, which keep the order in which they were chosen. */
function WordsControl({ field, value, onValue }: ControlProps) {
  const chosen = (value ?? []) as readonly string[];
  const choose = (word: string, on: boolean) => {
    const kept = chosen.filter((other) => on || other !== word);
    const next = on && !chosen.includes(word) ? [...kept, word] : kept;
    onValue(next.length === 0 && field.clears ? null : next);
  };
  return (
    <Group field={field}>
      {wordsOf(field).map((word) => (
        <CheckField
          key={word}
          label={phrase(word)}
          checked={chosen.includes(word)}
          onChecked={(on) => choose(word, on)}
        />
      ))}
    </Group>
  );
}

const Group = ({
  field: { label, hint },
  children,
}: {
  field: FormField;
  children: JSX.Element | readonly JSX.Element[];
}) => (
  <fieldset class="group">
    <legend>{label}</legend>
    {children}
    {hint !== undefined && <p class="hint">{hint}</p>}
  </fieldset>
);

/** Control for an object with a single editable field. */
function MemberControl({ field, value, onValue }: ControlProps) {
  const [part] = field.parts as readonly [FormField];
  const inner = { ...part, label: field.label, hint: field.hint, required: false };
  const member = (value as Readonly<Record<string, unknown>> | null | undefined)?.[part.name];
  return (
    <Control
      field={inner}
      value={member}
      onValue={(next) => onValue((next ?? "") === "" ? null : { [part.name]: next })}
    />
  );
}

/** Control for an object with lists of names. An absent list restricts nothing; an empty list allows no name. */
function ListsControl({ field, value, onValue }: ControlProps) {
  const [before] = useState(() => (value ?? null) as Entry | null);
  const lists = (value ?? {}) as Entry;
  const change = (name: string, list: readonly string[] | null) => {
    const changed = { ...lists, [name]: list };
    // The names keep their order, so that an undone edit equals the stored value.
    const names = new Set([...Object.keys(before ?? {}), ...field.parts.map((part) => part.name)]);
    const kept = [...names].filter((each) => (changed[each] ?? null) !== null || before?.[each] === null);
    const next = Object.fromEntries(kept.map((each) => [each, changed[each] ?? null]));
    onValue(withoutLists(next) ? emptyOf(before) : next);
  };
  return (
    <Group field={field}>
      {field.parts.map((part) => (
        <NameList
          key={part.name}
          field={part}
          value={lists[part.name]}
          onValue={(list) => change(part.name, list as readonly string[] | null)}
        />
      ))}
    </Group>
  );
}

const withoutLists = (lists: Entry): boolean => Object.keys(lists).length === 0;

/** The value without any list: null, unless the stored record has an empty object. */
const emptyOf = (before: Entry | null): Entry | null => (before !== null && withoutLists(before) ? before : null);

const all = "all";
const named = "named";

/** Control for one list: either everything is allowed, or the names in the list. */
function NameList({ field, value, onValue }: ControlProps) {
  const isNamed = Array.isArray(value);
  return (
    <>
      <SelectField
        label={field.label}
        {...hinted(field)}
        value={isNamed ? named : all}
        options={[
          [all, "Not limited"],
          [named, "Only these"],
        ]}
        onValue={(choice) => {
          if ((choice === named) !== isNamed) onValue(choice === named ? [] : null);
        }}
      />
      {isNamed && (
        <Text
          field={field as TextProps["field"]}
          value={value}
          onValue={(names) => onValue(Array.isArray(names) ? names : [])}
          attributes={{
            "aria-label": `Names of ${field.label.toLowerCase()}`,
            placeholder: "One name in each line. Without a name nothing is allowed.",
          }}
        />
      )}
    </>
  );
}

type Entry = Readonly<Record<string, unknown>>;

interface Row {
  /** Identity of the row: its text fields keep their state when other rows are removed. */
  readonly id: number;
  readonly entry: Entry;
}

/** Control for a list of objects, to which rows can be added. An edit of one field leaves the other fields of its object unchanged. */
function RowsControl({ field, value, onValue }: ControlProps) {
  const [rows, setRows] = useState<readonly Row[]>(() =>
    ((value ?? []) as readonly Entry[]).map((entry, id) => ({ id, entry })),
  );
  const change = (next: readonly Row[]) => {
    setRows(next);
    onValue(next.length === 0 && field.clears ? null : next.map(({ entry }) => entry));
  };
  const [first] = field.parts as readonly [FormField];
  const noun = first.label.toLowerCase();
  return (
    <Group field={field}>
      <div class="rows">
        {rows.map(({ id, entry }, at) => (
          <div key={id} class="row-fields">
            {field.parts.map((part) => (
              <Cell
                key={part.name}
                field={part}
                name={part === first ? `${first.label} ${at + 1}` : `${part.label} of ${noun} ${at + 1}`}
                value={entry[part.name]}
                onValue={(next) =>
                  change(rows.map((row) => (row.id === id ? { id, entry: { ...entry, [part.name]: next } } : row)))
                }
              />
            ))}
            <button
              type="button"
              class="button plain icon-only"
              aria-label={`Remove ${noun} ${at + 1}`}
              onClick={() => change(rows.filter((row) => row.id !== id))}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
        <button
          type="button"
          class="button small"
          onClick={() =>
            change([...rows, { id: 1 + Math.max(-1, ...rows.map(({ id }) => id)), entry: newEntry(field) }])
          }
        >
          <Icon name="plus" size={16} /> Add {noun}
        </button>
      </div>
    </Group>
  );
}

/** A new entry with the fields required by the contract. A field with a list of words gets the first word, which is the default. */
const newEntry = ({ parts }: FormField): Entry =>
  Object.fromEntries(parts.filter(({ required }) => required).map((part) => [part.name, wordsOf(part)[0] ?? ""]));

interface CellProps extends ControlProps {
  readonly name: string;
}

const Cell = ({ field, name, ...props }: CellProps) =>
  isText(field.kind) ? (
    <Text
      {...props}
      field={field as TextProps["field"]}
      attributes={{ "aria-label": name, placeholder: field.label, title: field.hint, ...growing(field) }}
    />
  ) : (
    <Select {...props} field={field} name={name} />
  );

/** Attributes of a text field: a required text takes the free width of the row. */
const growing = ({ kind, required }: FormField) => ({
  class: `input${kind === "code" ? " code" : ""} ${required ? "grow" : "label"}`,
});

const Select = ({ field, name, value, onValue }: CellProps) => (
  <select
    class="input short"
    aria-label={name}
    title={field.hint}
    value={choiceText(field, value)}
    onChange={({ currentTarget }) => onValue(choiceValue(field, currentTarget.value))}
  >
    {optionsOf(field).map(([word, shown]) => (
      <option key={word} value={word}>
        {shown}
      </option>
    ))}
  </select>
);

/** Control for entries of a word and a choice: each word of the first field gets a choice of the second field. */
function EachControl({ field, value, onValue }: ControlProps) {
  const [key, choice] = field.parts as readonly [FormField, FormField];
  const entries = (value ?? []) as readonly Entry[];
  const choose = (word: string, chosen: unknown) => {
    const known = entries.some((entry) => entry[key.name] === word);
    if (!known && chosen === null) return;
    const changed = entries.flatMap((entry) => {
      if (entry[key.name] !== word) return [entry];
      return chosen === null ? [] : [{ ...entry, [choice.name]: chosen }];
    });
    const next = known ? changed : [...changed, { [key.name]: word, [choice.name]: chosen }];
    onValue(next.length === 0 && field.clears ? null : next);
  };
  const chosenFor = (word: string) => entries.find((entry) => entry[key.name] === word)?.[choice.name];
  return (
    <Group field={field}>
      <div class="rows">
        {wordsOf(key).map((word) => (
          <label key={word} class="row-line">
            {phrase(word)}
            <Select
              field={{ ...choice, clears: true, hint: "Empty: off" }}
              name={phrase(word)}
              value={chosenFor(word)}
              onValue={(chosen) => choose(word, chosen)}
            />
          </label>
        ))}
      </div>
    </Group>
  );
}

const controls: Readonly<Record<Exclude<FormField["kind"], TextKind>, ComponentType<ControlProps>>> = {
  check: CheckControl,
  choice: ChoiceControl,
  words: WordsControl,
  rows: RowsControl,
  each: EachControl,
  member: MemberControl,
  lists: ListsControl,
};

export function Control(props: ControlProps) {
  const { kind } = props.field;
  const Kind = isText(kind) ? TextControl : controls[kind];
  return <Kind {...props} />;
}
