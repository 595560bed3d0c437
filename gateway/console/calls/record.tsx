/** A request: its outcome with the reason, its cost, and every call to a provider. */
import { type Loaded, useLoad } from "../api/load.ts";
import { session } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatCount, formatExactDollars, formatMilliseconds, plural, formatDateTime } from "../parts/words.ts";
import { ContentPart } from "./content.tsx";
import { type Call, type CallDetail, loadDetail } from "./data.ts";
import { OutcomeBadge } from "./outcome-badge.tsx";

/** The error, with the provider's own code. */
const providerFailure = ({ provider_error: error, provider_code: code }: Call): string | null =>
  code === null ? error : `${error}: ${code}`;

type Fact = readonly [name: string, value: string | null | undefined];

const factsOf = (call: Call): Fact[] => [
  ["Began", formatDateTime(call.created_at)],
  ["Key", call.key_name ?? call.key_hash],
  ["Model", call.model],
  ["Asked for", call.requested_model === call.model ? null : call.requested_model],
  ["Endpoint", call.endpoint_id],
  ["Error", call.error_type],
  ["At the provider", providerFailure(call)],
  ["Guardrail", call.guardrail_id],
  ["Rule", call.rule],
  ["Cost", formatExactDollars(call.cost_usd)],
  [
    "Tokens",
    `${formatCount(call.input_tokens)} in (${formatCount(call.cached_tokens)} cached), ${formatCount(call.output_tokens)} out`,
  ],
  ["First token", call.first_token_ms === null ? null : formatMilliseconds(call.first_token_ms)],
  ["Took", formatMilliseconds(call.duration_ms)],
  ["Came through", `${call.door}${call.stream ? ", as a stream" : ""}`],
  ["Ended with", call.finish_reason],
  ["End user", call.user],
  ["Session", call.session_id],
  ["Counts", call.requests > 1 ? plural(call.requests, "refused request") : null],
  ["Request id", call.request_id],
  ["Response id", call.id],
  ["Trace id", call.trace_id],
];

export function CallRecord({ call, onClose }: { call: Call; onClose: () => void }) {
  const detail = useLoad(() => loadDetail(call.id), [call.id]);
  const expiresAt = detail.data?.content_expires_at;
  return (
    <Dialog title={call.model ?? call.requested_model ?? "Request"} side onClose={onClose}>
      <dl class="facts">
        <dt>Outcome</dt>
        <dd>
          <OutcomeBadge outcome={call.outcome} status={call.status} />
        </dd>
        {factsOf(call).map(([name, value]) =>
          value === null || value === undefined || value === "" ? null : (
            <>
              <dt>{name}</dt>
              <dd class={/ id$|Endpoint|Guardrail/.test(name) ? "mono" : ""}>
                {name === "Trace id" ? <TraceLink id={value} /> : value}
              </dd>
            </>
          ),
        )}
      </dl>
      <section class="dialog-part">
        <h3>Calls to providers</h3>
        {call.attempts === 0 ? <Empty title="No provider was called" /> : <Attempts of={detail} />}
      </section>
      {expiresAt && <ContentPart id={call.id} expiresAt={expiresAt} />}
    </Dialog>
  );
}

/** A link, if the operator configured the address of traces. */
function TraceLink({ id }: { id: string }) {
  const address = session.value?.trace_url;
  if (!address) return <>{id}</>;
  return (
    <a href={address.replaceAll("{trace_id}", encodeURIComponent(id))} target="_blank" rel="noreferrer">
      {id}
    </a>
  );
}

function Attempts({ of: detail }: { of: Loaded<CallDetail> }) {
  return (
    <Show of={detail}>
      {({ provider_responses: rows }) => (
        <ol class="ranks">
          {(rows ?? []).map(({ endpoint_id: endpoint, status, latency, total_cost: cost, operation }, n) => (
            <li key={n}>
              <span class="mono">{endpoint}</span>
              <span class="amount">{cost === null ? "no price" : formatExactDollars(cost)}</span>
              <span class="muted">
                {status ?? "no status"}
                {latency !== null && `, ${formatMilliseconds(latency)}`}
                {operation !== "turn" && `, ${operation}`}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Show>
  );
}
