/** The fields of an object with types and descriptions; nested objects open on demand. */
import { useState } from "preact/hooks";
import { Prose } from "./prose.tsx";
import { type Contract, type JsonSchema, fieldsOf, describeType } from "./document.ts";
import { listLimits } from "./limits.ts";

interface FieldsProps {
  readonly schema: JsonSchema;
  readonly schemas: Contract["schemas"];
}

export function Fields({ schema, schemas }: FieldsProps) {
  const owner = fieldsOf(schema, schemas);
  if (!owner) return <p class="muted mono">{describeType(schema)}</p>;
  const required = new Set((owner["required"] ?? []) as string[]);
  return (
    <ul class="schema">
      {Object.entries(owner["properties"] as Record<string, JsonSchema>).map(([name, field]) => (
        <li key={name}>
          <code class="field-name">{name}</code>{" "}
          <span class="muted">{[describeType(field), ...listLimits(field)].join(", ")}</span>
          {required.has(name) && <span class="badge">required</span>}
          {typeof field["description"] === "string" && <Prose text={field["description"]} />}
          {fieldsOf(field, schemas) && <Inner name={name} schema={field} schemas={schemas} />}
        </li>
      ))}
    </ul>
  );
}

/** Draws nested fields on demand: some schemas contain themselves. */
function Inner({ name, schema, schemas }: FieldsProps & { readonly name: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="more" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Fields of {name}</summary>
      {open && <Fields schema={schema} schemas={schemas} />}
    </details>
  );
}
