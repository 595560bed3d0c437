/** The calls of a request to providers on one axis of time, with their tokens and cost. */
import { Table } from "../parts/table.tsx";
import { formatCount, formatExactDollars, formatMilliseconds } from "../parts/words.ts";
import type { GenerationRecord, ProviderCall } from "./data.ts";
import { PriceLines } from "./prices.tsx";

interface Span {
  readonly name: string;
  readonly about: string;
  /** Milliseconds from the beginning of the request. */
  readonly begin: number;
  readonly first: number | null;
  readonly end: number;
  readonly isFailed: boolean;
}

/** The highest HTTP status that is not an error. */
const lastGood = 399;

const nameOf = ({ provider_name: provider, model_permaslug: model, operation }: ProviderCall): string =>
  [provider, model, ...(operation === "turn" ? [] : [operation])].join(" · ");

/** @param failure kind and code of the failure, recorded only for the call that decided the outcome of the request */
const spanOf = (call: ProviderCall, failure: string): Span => ({
  name: nameOf(call),
  about: [`status ${call.status ?? "unknown"}`, failure].filter(Boolean).join(", "),
  begin: call.started_after,
  first: call.first_event === null ? null : call.started_after + call.first_event,
  end: call.started_after + (call.latency ?? 0),
  isFailed: (call.status ?? 0) > lastGood,
});

export function Waterfall({ request }: { request: GenerationRecord }) {
  const calls = request.provider_responses ?? [];
  const whole: Span = {
    name: "Request",
    about: request.outcome,
    begin: 0,
    first: request.latency,
    end: request.generation_time ?? 0,
    isFailed: request.status > lastGood,
  };
  const failure = [request.provider_error, request.provider_code].filter((word) => word !== null).join(", ");
  const spans = [whole, ...calls.map((call, n) => spanOf(call, n === calls.length - 1 ? failure : ""))];
  const length = Math.max(1, ...spans.map(({ end }) => end));
  return (
    <ol class="waterfall">
      {spans.map((span, n) => (
        <Line key={n} span={span} length={length} />
      ))}
    </ol>
  );
}

function Line({ span: { name, about, begin, first, end, isFailed }, length }: { span: Span; length: number }) {
  const share = (ms: number) => `${(ms / length) * 100}%`;
  const words = [
    begin === 0 ? "" : `began after ${formatMilliseconds(begin)}`,
    first === null ? "no event" : `first event after ${formatMilliseconds(first)}`,
    `ended after ${formatMilliseconds(end)}`,
  ];
  return (
    <li>
      <span class="breakable">
        {name} <span class="muted">{about}</span>
      </span>
      <span class="track" aria-hidden="true">
        <i class="waiting" style={{ left: share(begin), width: share((first ?? end) - begin) }} />
        {first !== null && <i class="answering" style={{ left: share(first), width: share(end - first) }} />}
        {isFailed && <i class="broken" style={{ left: share(end) }} />}
      </span>
      <span class="muted">{words.filter(Boolean).join(", ")}</span>
    </li>
  );
}

const costOf = ({ total_cost: cost, tokens_prompt: tokens }: ProviderCall): string =>
  cost === null ? (tokens === null ? "–" : "no price") : formatExactDollars(cost);

const known = (value: number | null): string => (value === null ? "–" : formatCount(value));

/** Tokens and cost of each call. The costs add up to the cost of the request. */
export const CallTable = ({ request }: { request: GenerationRecord }) => (
  <Table
    columns={[
      ["Call"],
      ["Tokens in", "number"],
      ["of them cached", "wide number"],
      ["Tokens out", "number"],
      ["of them reasoning", "wide number"],
      ["Cost", "number"],
    ]}
  >
    {(request.provider_responses ?? []).map((call, n) => (
      <tr key={n}>
        <th scope="row" class="breakable">
          {nameOf(call)}
          <PriceLines call={call} />
        </th>
        <td class="number">{known(call.tokens_prompt)}</td>
        <td class="wide number">{known(call.tokens_cached)}</td>
        <td class="number">{known(call.tokens_completion)}</td>
        <td class="wide number">{known(call.tokens_reasoning)}</td>
        <td class="number">{costOf(call)}</td>
      </tr>
    ))}
    <tr class="sum">
      <th scope="row">Request</th>
      <td class="number">{formatCount(sumOf(request, "tokens_prompt"))}</td>
      <td class="wide number">{formatCount(sumOf(request, "tokens_cached"))}</td>
      <td class="number">{formatCount(sumOf(request, "tokens_completion"))}</td>
      <td class="wide number">{formatCount(sumOf(request, "tokens_reasoning"))}</td>
      <td class="number">{formatExactDollars(request.total_cost)}</td>
    </tr>
  </Table>
);

type TokenName = keyof ProviderCall & `tokens_${string}`;

const sumOf = ({ provider_responses: calls }: GenerationRecord, name: TokenName): number =>
  (calls ?? []).reduce((sum, call) => sum + (call[name] ?? 0), 0);
