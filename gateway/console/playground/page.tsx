/** Sends a request to a model, and shows every step of its processing. */
import { useLocation } from "preact-iso";
import { useRef, useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { playgroundKey } from "../api/playground-key.ts";
import { hasRole } from "../api/session.ts";
import { loadGuardrails } from "../guardrails/data.ts";
import { assignGuardrail } from "../keys/data.ts";
import { loadModels } from "../models/data.ts";
import { CopyButton } from "../parts/copy.tsx";
import { AreaField, SelectField, TextField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Failure } from "../parts/state.tsx";
import { takeHanded } from "./handed.ts";
import { ModelField } from "./model-field.tsx";
import { type Outcome, OutcomeView } from "./outcome.tsx";
import { type PlaygroundDraft, type PlaygroundRequest, requestForms, toPlaygroundRequest } from "./request.ts";
import { planRequest, streamRequest } from "./run.ts";

const first: PlaygroundDraft = {
  model: "",
  input: "Say hello in three languages.",
  instructions: "",
  max: "300",
  earlier: "",
  tools: "",
  plugins: "",
};

const nothing: Outcome = { plan: undefined, events: [] };

export function PlaygroundPage() {
  const models = useLoad(() => loadModels({ q: "", sort: "", offset: 0 }));
  const guardrails = useLoad(loadGuardrails);
  const { query } = useLocation();
  const [written, setDraft] = useState(() => ({ ...first, model: query["model"] ?? "", ...takeHanded() }));
  const [guardrail, setGuardrail] = useState("");
  const run = useRun(guardrail);
  const draft = written.model === "" ? { ...written, model: models.data?.models[0]?.id ?? "" } : written;
  const bind = (name: keyof PlaygroundDraft) => ({
    value: draft[name],
    onValue: (value: string) => setDraft({ ...draft, [name]: value }),
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void run.send(draft, true);
  };
  const guards = (guardrails.data ?? []).map(({ id, name }) => [id, name] as const);
  return (
    <Page title="Playground" lead="Ask a model with a key of its own that lives for an hour and may spend a dollar.">
      <div class="halves">
        <Card>
          <form class="form" onSubmit={submit}>
            <ModelField models={models.data?.models ?? []} {...bind("model")} />
            <AreaField label="Input" rows={5} {...bind("input")} />
            <AreaField label="Instructions" rows={2} {...bind("instructions")} />
            <details class="more" open={draft.earlier !== "" || draft.tools !== ""}>
              <summary>Tools, plugins, guardrail and length</summary>
              <div class="form">
                <div class="pair">
                  <TextField label="Max output tokens" type="number" min="1" {...bind("max")} />
                  <SelectField
                    label="Guardrail"
                    value={guardrail}
                    onValue={setGuardrail}
                    disabled={!hasRole("admin")}
                    options={[["", "None"], ...guards]}
                  />
                </div>
                <AreaField label="Earlier messages as JSON" code rows={3} placeholder="[…]" {...bind("earlier")} />
                <AreaField label="Tools as JSON" code rows={3} placeholder="[…]" {...bind("tools")} />
                <AreaField label="Plugins as JSON" code rows={2} placeholder='[{"id": "web"}]' {...bind("plugins")} />
              </div>
            </details>
            <Buttons run={run} draft={draft} ready={!models.loading && hasRole("operator")} />
          </form>
          <CopyAs draft={draft} />
        </Card>
        <Card>
          {run.error && <Failure error={run.error} />}
          <OutcomeView {...run.outcome} />
        </Card>
      </div>
    </Page>
  );
}

type Run = ReturnType<typeof useRun>;

function useRun(guardrail: string) {
  const [outcome, setOutcome] = useState(nothing);
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController>(undefined);
  const given = useRef("");
  const send = async (draft: PlaygroundDraft, streams: boolean) => {
    const stop = new AbortController();
    running.current = stop;
    setError(undefined);
    setBusy(true);
    setOutcome(nothing);
    try {
      const request = toPlaygroundRequest(draft);
      await hold(guardrail, given);
      const plan = await planRequest(request);
      setOutcome({ plan, events: [] });
      if (streams && !stop.signal.aborted) await stream(request, stop.signal, setOutcome);
    } catch (failure) {
      if (!stop.signal.aborted) setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  return { outcome, error, busy, send, stop: () => running.current?.abort() };
}

/** Assigns the chosen guardrail to the playground's key. @param given the guardrail assigned before, updated here */
async function hold(guardrail: string, given: { current: string }): Promise<void> {
  if (guardrail === given.current) return;
  const { hash } = await playgroundKey();
  await assignGuardrail(hash, given.current, guardrail);
  given.current = guardrail;
}

type Update = (change: (outcome: Outcome) => Outcome) => void;

const stream = (request: PlaygroundRequest, signal: AbortSignal, update: Update): Promise<void> =>
  streamRequest(request, (event) => update((known) => ({ ...known, events: [...known.events, event] })), signal);

interface ButtonsProps {
  readonly run: Run;
  readonly draft: PlaygroundDraft;
  /** Whether the default model, the first of the catalogue, is loaded. */
  readonly ready: boolean;
}

const Buttons = ({ run, draft, ready }: ButtonsProps) => (
  <div class="form-foot">
    <button type="button" class="button" disabled={run.busy || !ready} onClick={() => void run.send(draft, false)}>
      Dry run
    </button>
    {run.busy ? (
      <button type="button" class="button primary" onClick={run.stop}>
        <Icon name="stop" /> Stop
      </button>
    ) : (
      <button type="submit" class="button primary" disabled={!ready}>
        <Icon name="play" /> Send
      </button>
    )}
  </div>
);

function CopyAs({ draft }: { draft: PlaygroundDraft }) {
  const [name, setName] = useState("curl");
  const form = requestForms.find((each) => each.name === name);
  const text = form?.write(safely(draft), location.origin) ?? "";
  return (
    <section class="dialog-part">
      <div class="card-head">
        <SelectField
          label="Code"
          value={name}
          onValue={setName}
          options={requestForms.map((each) => [each.name, each.name])}
        />
        <CopyButton text={text} />
      </div>
      <pre class="json" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}

/** The request of a draft, without the JSON fields while one of them is incomplete. */
function safely(draft: PlaygroundDraft): PlaygroundRequest {
  try {
    return toPlaygroundRequest(draft);
  } catch {
    return toPlaygroundRequest({ ...draft, earlier: "", tools: "", plugins: "" });
  }
}
