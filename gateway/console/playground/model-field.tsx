/** A model's slug, with the catalogue as suggestions. */
import { useId } from "preact/hooks";
import type { Model } from "../models/data.ts";
import { Field } from "../parts/field.tsx";

interface ModelFieldProps {
  readonly models: readonly Model[];
  readonly value: string;
  readonly onValue: (value: string) => void;
}

export function ModelField({ models, value, onValue }: ModelFieldProps) {
  const list = useId();
  return (
    <Field label="Model">
      {(ids) => (
        <>
          <input
            {...ids}
            class="input mono"
            required
            list={list}
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={({ currentTarget }) => onValue(currentTarget.value)}
          />
          <datalist id={list}>
            {models.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
