/** Fields of forms, each with its label and a hint. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly children: (ids: { id: string; "aria-describedby"?: string }) => ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(hint !== undefined && { "aria-describedby": `${id}-hint` }) })}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface TextProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: "text" | "password" | "number" | "datetime-local" | "date" | "search";
  readonly required?: boolean;
  readonly min?: string;
  readonly step?: string;
  readonly placeholder?: string;
  readonly autofocus?: boolean;
  readonly maxLength?: number;
}

export const TextField = ({ label, hint, value, onValue, ...rest }: TextProps) => (
  <Field label={label} hint={hint}>
    {(ids) => (
      <input
        {...ids}
        {...(rest as { type: "text" })}
        class="input"
        autocomplete="off"
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    )}
  </Field>
);

interface CommitProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: "search" | "datetime-local";
  readonly placeholder?: string;
  readonly choices?: readonly string[];
}

/**
 * A text field that reports its value when a person leaves it or presses Enter. Reporting each letter would put an address for each into the
 * browser's history.
 */
export const CommitField = ({ label, value, onValue, type = "search", placeholder = "", choices }: CommitProps) => (
  <Field label={label}>
    {({ id, ...ids }) => (
      <>
        <input
          key={value}
          id={id}
          {...ids}
          class="input"
          type={type}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          list={choices && `${id}-choices`}
          defaultValue={value}
          onChange={({ currentTarget }) => onValue(currentTarget.value.trim())}
        />
        {choices && (
          <datalist id={`${id}-choices`}>
            {choices.map((choice) => (
              <option key={choice} value={choice} />
            ))}
          </datalist>
        )}
      </>
    )}
  </Field>
);

interface AreaProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly rows?: number;
  readonly code?: boolean;
  readonly placeholder?: string;
  readonly required?: boolean;
}

export const AreaField = ({
  label,
  hint,
  value,
  onValue,
  rows = 4,
  code = false,
  placeholder,
  required,
}: AreaProps) => (
  <Field label={label} hint={hint}>
    {(ids) => (
      <textarea
        {...ids}
        class={code ? "input code" : "input"}
        rows={rows}
        spellcheck={false}
        placeholder={placeholder}
        required={required}
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    )}
  </Field>
);

interface SelectProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Pairs of a value and its name. */
  readonly options: readonly (readonly [string, string])[];
  readonly disabled?: boolean;
}

export const SelectField = ({ label, hint, value, onValue, options, disabled = false }: SelectProps) => (
  <Field label={label} hint={hint}>
    {(ids) => (
      <select
        {...ids}
        class="input"
        value={value}
        disabled={disabled}
        onChange={({ currentTarget }) => onValue(currentTarget.value)}
      >
        {options.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    )}
  </Field>
);

interface CheckProps {
  readonly label: string;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
}

export const CheckField = ({ label, hint, checked, onChecked }: CheckProps) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={({ currentTarget }) => onChecked(currentTarget.checked)} />
    <span>
      {label}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </span>
  </label>
);
