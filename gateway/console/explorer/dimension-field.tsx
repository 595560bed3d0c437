/** A field to choose a dimension: a filter's subject, such as the model, or a tag by its name. */
import { useState } from "preact/hooks";
import { CommitField, SelectField } from "../parts/field.tsx";
import { filterTitles } from "./address.ts";
import { dimensions, tagDimension, tagOf, tagPrefix } from "./dimensions.ts";

interface DimensionFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  /** Choices listed before the dimensions. */
  readonly options: readonly (readonly [string, string])[];
  /** A dimension left out, since it is already chosen elsewhere. */
  readonly without?: string;
}

export function DimensionField({ label, value, onValue, options, without }: DimensionFieldProps) {
  const [isNaming, setNaming] = useState(false);
  const tag = tagOf(value);
  const units = dimensions.filter((each) => each !== without).map((each) => [each, filterTitles[each]] as const);
  const choose = (chosen: string) => {
    setNaming(chosen === tagPrefix);
    if (chosen !== tagPrefix) onValue(chosen);
  };
  const isTag = isNaming || tag !== undefined;
  return (
    <>
      <SelectField
        label={label}
        value={isTag ? tagPrefix : value}
        onValue={choose}
        options={[...options, ...units, [tagPrefix, "Tag…"]]}
      />
      {isTag && (
        <CommitField
          label={`${label}: tag`}
          value={tag ?? ""}
          onValue={(name) => name !== "" && onValue(tagDimension(name))}
          placeholder="team"
        />
      )}
    </>
  );
}
