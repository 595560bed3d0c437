/** Applies the form's current rules to a text. */
import { decisions } from "@sluice/proto/lib/policy/guardrail-words.js";
import { useState } from "preact/hooks";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { ActionForm } from "../parts/dialog.tsx";
import { AreaField, SelectField } from "../parts/field.tsx";
import { type Values } from "../forms/edits.ts";
import { phrase } from "../forms/fields.ts";
import type { GuardrailChange } from "./data.ts";

type Result = Schemas["GuardrailTrialResult"];

/** Control that tries the guardrail on a text. @param settings settings of the form, saved or not */
export function Trial({ settings }: { settings: Values }) {
  const [text, setText] = useState("");
  const [side, setSide] = useState("input");
  const [result, setResult] = useState<Result>();
  const attempt = async () => {
    const body = { guardrail: settings as GuardrailChange, side: side as "input" | "output", text };
    setResult((await unwrapAnswer(api.POST("/guardrails/try", { body }))).data);
  };
  return (
    <section class="dialog-part">
      <h3>Try it</h3>
      <ActionForm label="Try" act={attempt} disabled={text === ""} needs="operator">
        <AreaField
          label="Text"
          hint="Nothing is stored, and no model is asked but judges. The rules are those of the form, saved or not."
          value={text}
          onValue={setText}
        />
        <SelectField
          label="Direction"
          value={side}
          onValue={setSide}
          options={[
            ["input", "Input"],
            ["output", "Output"],
          ]}
        />
      </ActionForm>
      <div role="status">{result && <Verdict result={result} />}</div>
    </section>
  );
}

function Verdict({ result: { decision, text, error, matches } }: { result: Result }) {
  return (
    <div class="verdict">
      <p>
        <span class={`badge ${decisions[decision]}`}>{phrase(decision)}</span> {error?.message}
      </p>
      {matches.length > 0 && (
        <ul class="ranks">
          {matches.map(({ rule, action, start, end }, n) => (
            <li key={n}>
              <span>{rule}</span>
              <span class="muted">
                {action}, characters {start} to {end}
              </span>
            </li>
          ))}
        </ul>
      )}
      {text !== null && <pre class="json">{text}</pre>}
    </div>
  );
}
