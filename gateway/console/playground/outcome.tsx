/** The outcome of a request: plan, answer, events, receipt and cost. */
import { Empty } from "../parts/state.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { formatExactDollars, formatMilliseconds, plural } from "../parts/words.ts";
import type { DryRunPlan, StreamEvent } from "./run.ts";

export interface Outcome {
  readonly plan: DryRunPlan | undefined;
  readonly events: readonly StreamEvent[];
}

interface FinalResponse {
  readonly service_metadata?: unknown;
  readonly usage?: { readonly cost?: number; readonly input_tokens?: number; readonly output_tokens?: number } | null;
  readonly error?: { readonly message?: string } | null;
}

const ends = new Set(["response.completed", "response.incomplete", "response.failed"]);

const finalOf = (events: readonly StreamEvent[]): FinalResponse | undefined =>
  events.findLast(({ type }) => ends.has(type))?.data["response"] as FinalResponse | undefined;

const textOf = (events: readonly StreamEvent[]): string =>
  events.map(({ type, data }) => (type === "response.output_text.delta" ? String(data["delta"]) : "")).join("");

export function OutcomeView({ plan, events }: Outcome) {
  const final = finalOf(events);
  const first = events.find(({ type }) => type === "response.output_text.delta");
  return (
    <>
      {final && (
        <p class="facts-line">
          <span class="badge accent">{formatExactDollars(final.usage?.cost ?? 0)}</span>
          <span>{plural(final.usage?.input_tokens ?? 0, "token")} in</span>
          <span>{plural(final.usage?.output_tokens ?? 0, "token")} out</span>
          {first && <span>first after {formatMilliseconds(first.at)}</span>}
          <span>done after {formatMilliseconds(events.at(-1)?.at ?? 0)}</span>
        </p>
      )}
      <Tabs
        label="Outcome"
        tabs={[
          { name: "Answer", body: () => <Answer text={textOf(events)} error={final?.error?.message} /> },
          { name: "Plan", body: () => <PlanView plan={plan} /> },
          { name: `Events${events.length > 0 ? ` (${events.length})` : ""}`, body: () => <Events events={events} /> },
          { name: "Receipt", body: () => <Json value={final?.service_metadata} /> },
        ]}
      />
    </>
  );
}

const Answer = ({ text, error }: { text: string; error: string | undefined }) => (
  <>
    {error !== undefined && <p class="note note-danger">{error}</p>}
    {text === "" && error === undefined ? (
      <Empty title="No answer yet">
        <p>A dry run shows who would be asked, and what it would cost at most.</p>
      </Empty>
    ) : (
      <p class="answer">{text}</p>
    )}
  </>
);

function PlanView({ plan }: { plan: DryRunPlan | undefined }) {
  if (!plan) return <Empty title="No dry run yet" />;
  return (
    <>
      {plan.blocked && <p class="note note-danger">{plan.error?.message ?? "The request would be refused."}</p>}
      <ol class="ranks">
        {plan.candidates.map(({ model, provider, service_tier: tier, estimate }) => (
          <li key={`${model} ${provider} ${tier}`}>
            <span>
              {provider} <span class="muted mono">{model}</span>
            </span>
            <span class="amount">
              {typeof estimate?.max_cost === "number" ? `at most ${formatExactDollars(estimate.max_cost)}` : "no price"}
            </span>
          </li>
        ))}
      </ol>
      <details class="more">
        <summary>All of it</summary>
        <Json value={plan} />
      </details>
    </>
  );
}

/** Maximum events shown; a long answer has thousands. */
const maxEvents = 300;

const Events = ({ events }: { events: readonly StreamEvent[] }) =>
  events.length === 0 ? (
    <Empty title="No events yet" />
  ) : (
    <ol class="events">
      {events.slice(0, maxEvents).map(({ type, at, data }, n) => (
        <li key={n}>
          <details>
            <summary>
              <span class="amount muted">{formatMilliseconds(at)}</span> <code>{type}</code>
            </summary>
            <Json value={data} />
          </details>
        </li>
      ))}
      {events.length > maxEvents && <li class="hint">{plural(events.length - maxEvents, "more event")}</li>}
    </ol>
  );

const Json = ({ value }: { value: unknown }) =>
  value === undefined ? <Empty title="Nothing yet" /> : <pre class="json">{JSON.stringify(value, null, 2)}</pre>;
