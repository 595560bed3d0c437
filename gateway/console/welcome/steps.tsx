/** The four first steps: a provider, a request, a budget, a guardrail. */
import { useEffect, useState } from "preact/hooks";
import { type Schemas } from "../api/client.ts";
import { decisions } from "@sluice/proto/lib/policy/guardrail-words.js";
import { CopyButton } from "../parts/copy.tsx";
import { phrase } from "../forms/fields.ts";
import { ActionForm } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { formatMilliseconds, plural } from "../parts/words.ts";
import { type ConfiguredProvider, deleteProvider, testProvider } from "../providers/data.ts";
import { NewProviderForm } from "../providers/form.tsx";
import {
  hasRequest,
  limitWorkspace,
  loadFirstModel,
  makeFirstGuardrail,
  makeFirstKey,
  tryFirstGuardrail,
} from "./data.ts";
import { snippetsFor } from "./snippets.ts";

interface StepProps {
  /** Loads again which steps are done. */
  readonly onDone: () => Promise<unknown>;
}

/** Adds a provider and sends it one request. If the provider does not answer, it is removed again, so that the form can add it anew. */
export function ProviderStep({ onDone }: StepProps) {
  const [outcome, setOutcome] = useState("");
  const added = async ({ id, models }: ConfiguredProvider) => {
    setOutcome("");
    const refuse = async (reason: string): Promise<never> => {
      await deleteProvider(id);
      throw new Error(`${id} was not added: ${reason}`);
    };
    const tried = await testProvider(id).catch((error: Error) => refuse(error.message));
    const { ok, model, latency_ms: ms, cause } = tried;
    if (!ok) await refuse(cause?.message ?? "it did not answer");
    setOutcome(`${model} answered in ${formatMilliseconds(ms)}. ${id} serves ${plural(models, "model")}.`);
    await onDone();
  };
  return (
    <>
      <p>Paste a key of a vendor, or name a server. It is tested with one tiny request.</p>
      <NewProviderForm onDone={added} />
      <p role="status">{outcome}</p>
    </>
  );
}

const lookMs = 1_000;

export function RequestStep({ onDone }: StepProps) {
  const [secret, setSecret] = useState("");
  const [model, setModel] = useState("");
  const make = async () => {
    setModel(await loadFirstModel());
    setSecret(await makeFirstKey());
  };
  useEffect(() => {
    if (secret === "") return undefined;
    const look = async () => {
      if (await hasRequest().catch(() => false)) await onDone();
    };
    const timer = setInterval(() => void look(), lookMs);
    return () => clearInterval(timer);
  }, [secret]);
  if (secret === "") return <ActionForm label="Make a key" act={make} />;
  const snippets = snippetsFor(location.origin, secret, model);
  return (
    <>
      <p>Copy the key with its code now: it cannot be shown again. This page shows the request when it arrives.</p>
      <Tabs
        label="Language"
        tabs={snippets.map(({ name, code }) => ({
          name,
          body: () => (
            <>
              <pre class="json">{code}</pre>
              <CopyButton text={code} label={`Copy ${name}`} />
            </>
          ),
        }))}
      />
      <p class="muted">Waiting for the first request…</p>
    </>
  );
}

export function BudgetStep({ onDone }: StepProps) {
  const [limit, setLimit] = useState("50");
  const set = async () => {
    await limitWorkspace(Number(limit));
    await onDone();
  };
  return (
    <>
      <p>
        A request that would exceed it is refused before a provider is asked. <a href="/console/keys">Keys</a> can have
        budgets of their own.
      </p>
      <ActionForm label="Set budget" act={set} disabled={!(Number(limit) > 0)} needs="admin">
        <TextField
          label="USD a month for all keys of this workspace"
          type="number"
          min="0"
          step="0.01"
          value={limit}
          onValue={setLimit}
        />
      </ActionForm>
    </>
  );
}

export function GuardrailStep({ onDone }: StepProps) {
  const [text, setText] = useState("Write to ada@example.com.");
  const [result, setResult] = useState<Schemas["GuardrailTrialResult"]>();
  const make = async () => {
    await makeFirstGuardrail();
    await onDone();
  };
  return (
    <>
      <p>It redacts e-mail addresses and blocks credit cards, before a provider sees them.</p>
      <ActionForm label="Try" act={async () => setResult(await tryFirstGuardrail(text))} disabled={text === ""}>
        <TextField label="Text of a request" value={text} onValue={setText} />
      </ActionForm>
      <div role="status">
        {result && (
          <p>
            <span class={`badge ${decisions[result.decision]}`}>{phrase(result.decision)}</span>{" "}
            {result.error?.message ?? result.text}
          </p>
        )}
      </div>
      <ActionForm label="Make this guardrail" act={make} needs="admin" />
    </>
  );
}
