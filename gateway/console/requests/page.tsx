/** One request: its outcome, its calls to providers, tokens, cost and content. */
import { useRoute } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useLoad } from "../api/load.ts";
import { hasRole, session } from "../api/session.ts";
import { explorerAddress } from "../explorer/address.ts";
import { loadGuardrails } from "../guardrails/data.ts";
import { CopyButton } from "../parts/copy.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatDateTime, formatExactDollars, formatMilliseconds } from "../parts/words.ts";
import { tagDimension, tagPrefix, withTag } from "../explorer/dimensions.ts";
import { sessionAddress } from "./address.ts";
import { ContentCard } from "./content.tsx";
import { type GenerationRecord, loadRequest } from "./data.ts";
import { OutcomeBadge } from "./outcome-badge.tsx";
import { CallTable, Waterfall } from "./waterfall.tsx";

export function RequestPage() {
  const { id = "" } = useRoute().params;
  const request = useLoad(() => loadRequest(id), [id]);
  return (
    <Page title="Request" lead={id} actions={request.data && <Actions request={request.data} />}>
      <Show of={request} lines={8}>
        {(data) => (
          <>
            {data.status > 399 && <Failed request={data} />}
            <div class="halves">
              <Facts request={data} />
              <Ids request={data} />
            </div>
            <Calls request={data} />
            <ContentCard key={id} id={id} expiresAt={data.content_expires_at} />
          </>
        )}
      </Show>
    </Page>
  );
}

const Actions = ({ request: { model } }: { request: GenerationRecord }) =>
  hasRole("operator") && model !== "" ? (
    <a class="button" href={`/console/playground?model=${encodeURIComponent(model)}`}>
      Model in the playground
    </a>
  ) : null;

/** The reason of the failure, with a link to other requests that failed for it. */
function Failed({ request }: { request: GenerationRecord }) {
  const { error_type: type, provider_error: kind, provider_code: code, rule, status } = request;
  const similar = explorerAddress({
    tab: "requests",
    ...((kind ?? type) ? { error: kind ?? type ?? "" } : { status: String(status) }),
  });
  return (
    <div class="note note-danger" role="alert">
      <span>
        <strong>{rule ?? kind ?? type ?? `Status ${status}`}</strong>
        {kind !== null && `, answered as ${type ?? status}`}
        {code !== null && (
          <>
            , the provider’s own code <code>{code}</code>
          </>
        )}
      </span>
      <a href={similar}>Similar failures of the last 7 days</a>
    </div>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

const List = ({ facts }: { facts: readonly Fact[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) =>
      value === null || value === undefined || value === "" ? null : (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ),
    )}
  </dl>
);

function Facts({ request }: { request: GenerationRecord }) {
  const { model, requested_model: wanted, guardrail_id: guardrail, provider_name: provider } = request;
  const facts: Fact[] = [
    ["Outcome", <OutcomeBadge key="outcome" outcome={request.outcome} status={request.status} />],
    ["Time", formatDateTime(request.created_at)],
    ["Model", model && <a href={explorerAddress({ model })}>{model}</a>],
    ["Requested model", wanted === model ? null : wanted],
    ["Provider", provider === null ? null : <a href={explorerAddress({ provider })}>{provider}</a>],
    ["Key", <a href={`/console/keys/${request.key_hash}`}>{request.key_name ?? request.key_hash.slice(0, 12)}</a>],
    [
      "End user",
      request.external_user && <a href={explorerAddress({ user: request.external_user })}>{request.external_user}</a>,
    ],
    ["Guardrail", guardrail && <GuardrailLink id={guardrail} />],
    ["Rule", request.rule],
    ["Cost", formatExactDollars(request.total_cost)],
    ["First token", request.latency === null ? null : formatMilliseconds(request.latency)],
    ["Duration", request.generation_time === null ? null : formatMilliseconds(request.generation_time)],
    ["Format", `${request.door}${request.streamed ? ", streamed" : ""}`],
    ["Tags", Object.keys(request.tags).length > 0 && <Tags tags={request.tags} />],
    ["Finish reason", request.finish_reason],
    ["Tokens", request.is_estimated ? "estimated, because the provider gave none" : null],
  ];
  return (
    <Card title="Summary">
      <List facts={facts} />
    </Card>
  );
}

/** Tags of the request. Each links to the usage of its value. */
const Tags = ({ tags }: Pick<GenerationRecord, "tags">) => (
  <>
    {Object.entries(tags).map(([name, value], n) => (
      <span key={name}>
        {n > 0 && ", "}
        <a href={explorerAddress({ tags: withTag("", `tag:${tagDimension(name).slice(tagPrefix.length)}`, value) })}>
          {name}={value}
        </a>
      </span>
    ))}
  </>
);

function GuardrailLink({ id }: { id: string }) {
  const guardrails = useLoad(loadGuardrails);
  return <a href={`/console/guardrails/${id}`}>{guardrails.data?.find((each) => each.id === id)?.name ?? id}</a>;
}

const Id = ({ text, children }: { text: string; children?: ComponentChildren }) => (
  <span class="id-line">
    <span class="mono">{children ?? text}</span> <CopyButton text={text} />
  </span>
);

function Ids({
  request: { id, request_id: requestId, session_id: sessionId, trace_id: traceId, key_hash: hash },
}: {
  request: GenerationRecord;
}) {
  const facts: Fact[] = [
    ["Generation", <Id text={id} />],
    ["Request", requestId && <Id text={requestId} />],
    ["Trace", traceId && <Id text={traceId}>{<TraceLink id={traceId} />}</Id>],
    ["Session", sessionId && <a href={sessionAddress(sessionId)}>{sessionId}</a>],
    ["Audit log", <a href={`/console/audit?target=${hash}`}>changes of its key</a>],
  ];
  return (
    <Card title="Ids and links">
      <List facts={facts} />
    </Card>
  );
}

/** A link to the trace, if the operator configured the address of traces. */
function TraceLink({ id }: { id: string }) {
  const address = session.value?.trace_url;
  if (!address) return <>{id}</>;
  return (
    <a href={address.replaceAll("{trace_id}", encodeURIComponent(id))} target="_blank" rel="noreferrer">
      {id}
    </a>
  );
}

const Calls = ({ request }: { request: GenerationRecord }) =>
  (request.provider_responses ?? []).length === 0 ? (
    <Card title="Calls to providers">
      <Empty title="No provider was called">
        <p>{request.outcome === "refused" ? "The request was refused before." : ""}</p>
      </Empty>
    </Card>
  ) : (
    <>
      <Card title="Calls to providers">
        <Waterfall request={request} />
      </Card>
      <Card title="Tokens and cost" flush>
        <CallTable request={request} />
      </Card>
    </>
  );
