/** Form that tries an operation of the API. */
import { useState } from "preact/hooks";
import { ActionForm } from "../parts/dialog.tsx";
import { AreaField, TextField } from "../parts/field.tsx";
import { formatMilliseconds } from "../parts/words.ts";
import type { Caller } from "./caller.ts";
import type { Operation } from "./document.ts";

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

interface TryProps {
  readonly operation: Operation;
  readonly caller: Caller;
}

export function Try({ operation, caller }: TryProps) {
  const { parameters, body, method } = operation;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState(() => (body ? JSON.stringify(body.example ?? {}, null, 2) : ""));
  const [answer, setAnswer] = useState<Answer>();
  const inputParameters = parameters.filter((parameter) => parameter.in !== "header");
  const send = async () => setAnswer(await callOperation(operation, caller, values, text));
  return (
    <section class="dialog-part">
      <h3>Try it</h3>
      <p class="hint">{caller.explain(operation)}</p>
      <ActionForm label={`Send ${method}`} act={send}>
        {caller.Field && <caller.Field />}
        {inputParameters.map((parameter) => (
          <TextField
            key={parameter.name}
            label={parameter.name}
            required={parameter.required === true}
            value={values[parameter.name] ?? ""}
            onValue={(value) => setValues({ ...values, [parameter.name]: value })}
          />
        ))}
        {body && <AreaField label="Body" code rows={8} value={text} onValue={setText} />}
      </ActionForm>
      <div role="status">
        {answer && (
          <>
            <p class="facts-line">
              <span class={answer.status < 400 ? "badge good" : "badge danger"}>{answer.status}</span>
              <span>{formatMilliseconds(answer.ms)}</span>
            </p>
            <pre class="json" tabIndex={0}>
              {answer.text}
            </pre>
          </>
        )}
      </div>
    </section>
  );
}

async function callOperation(
  operation: Operation,
  caller: Caller,
  values: Readonly<Record<string, string>>,
  text: string,
): Promise<Answer> {
  const { method, path, parameters, body } = operation;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const given = parameters.filter(({ name, in: place }) => place === "query" && (values[name] ?? "") !== "");
  const query = new URLSearchParams(given.map(({ name }) => [name, values[name] ?? ""]));
  const authorization = await caller.authorize(operation);
  const headers = { "content-type": "application/json", ...(authorization !== undefined && { authorization }) };
  const url = `${caller.baseFor(operation)}${filled}${query.size > 0 ? `?${query}` : ""}`;
  const began = performance.now();
  const response = await fetch(url, { method, headers, ...(body && { body: text }) });
  return { status: response.status, text: readable(await response.text()), ms: performance.now() - began };
}

function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
