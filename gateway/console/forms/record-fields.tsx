/** The fields of a record in a form. */
import { Control } from "./controls.tsx";
import { type RecordForm, type Values, withEdit } from "./edits.ts";
import type { FormField } from "./fields.ts";

interface FieldsProps {
  readonly form: RecordForm;
  /** The values of the record when the form was opened. */
  readonly before: Values;
  readonly edits: Values;
  readonly onEdits: (edits: Values) => void;
}

/** Kinds of short fields. The form shows several of them in one row. */
const shortKinds: ReadonlySet<FormField["kind"]> = new Set(["number", "choice", "time"]);

const isShort = ({ kind, clears }: FormField): boolean => shortKinds.has(kind) || (kind === "check" && clears);

/** Groups neighbours of the same width. */
function blocksOf(fields: readonly FormField[]): readonly (readonly FormField[])[] {
  const blocks: FormField[][] = [];
  for (const field of fields) {
    const block = blocks.at(-1);
    if (block && isShort(field) && isShort(block[0] as FormField)) block.push(field);
    else blocks.push([field]);
  }
  return blocks;
}

const Blocks = ({ fields, form, before, edits, onEdits }: FieldsProps & { readonly fields: readonly FormField[] }) => (
  <>
    {blocksOf(fields).map((block) => (
      <div key={block[0]?.name} class={block.length > 1 ? "pair" : undefined}>
        {block.map((field) => {
          const needed = form.needs[field.name];
          const values = { ...before, ...edits };
          return (
            <Control
              key={field.name}
              field={field}
              value={values[field.name]}
              disabled={needed !== undefined && (values[needed] ?? null) === null}
              onValue={(value) => onEdits(withEdit(form, before, edits, field.name, value))}
            />
          );
        })}
      </div>
    ))}
  </>
);

export function RecordFields(props: FieldsProps) {
  const { fields, closed } = props.form;
  const opened = fields.filter(({ name }) => !closed.test(name));
  const more = fields.filter(({ name }) => closed.test(name));
  return (
    <>
      <Blocks {...props} fields={opened} />
      {more.length > 0 && (
        <details class="more">
          <summary>More settings</summary>
          <div class="form">
            <Blocks {...props} fields={more} />
          </div>
        </details>
      )}
    </>
  );
}
