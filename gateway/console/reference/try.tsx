/** Calls an operation, on the session or on the playground's key. */
import { useState } from "preact/hooks";
import { base } from "../api/client.ts";
import { playgroundKey } from "../api/playground-key.ts";
import { ActionForm } from "../parts/dialog.tsx";
import { AreaField, TextField } from "../parts/field.tsx";
import { milliseconds } from "../parts/words.ts";
import type { Operation } from "./document.ts";

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly text: string;
}

export function Try({ operation }: { operation: Operation }) {
  const { parameters, body, manages, method } = operation;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState(() => (body ? JSON.stringify(body.example ?? {}, null, 2) : ""));
  const [answer, setAnswer] = useState<Answer>();
  const asked = parameters.filter((parameter) => parameter.in !== "header");
  const send = async () => setAnswer(await callOperation(operation, values, text));
  return (
    <section class="dialog-part">
      <h3>Try it</h3>
      <p class="hint">
        {manages
          ? `Runs with the rights of your session${method === "GET" ? "" : ", and changes what it says it changes"}.`
          : "Runs with a key that lives for an hour and may spend a dollar."}
      </p>
      <ActionForm label={`Send ${method}`} act={send}>
        {asked.map((parameter) => (
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
              <span>{milliseconds(answer.ms)}</span>
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
  { method, path, parameters, body, manages }: Operation,
  values: Readonly<Record<string, string>>,
  text: string,
): Promise<Answer> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  const given = parameters.filter(({ name, in: place }) => place === "query" && (values[name] ?? "") !== "");
  const query = new URLSearchParams(given.map(({ name }) => [name, values[name] ?? ""]));
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (!manages) headers["authorization"] = `Bearer ${(await playgroundKey()).secret}`;
  const url = `${manages ? base : "/api/v1"}${filled}${query.size > 0 ? `?${query}` : ""}`;
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
