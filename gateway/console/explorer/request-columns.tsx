/** Columns of the list of requests: their cells, and their fields in a CSV. */
import type { ComponentChildren } from "preact";
import { Money } from "../parts/money.tsx";
import type { Column } from "../parts/table.tsx";
import { formatCount, formatMilliseconds } from "../parts/words.ts";
import { OutcomeBadge } from "../requests/outcome-badge.tsx";
import type { loadRequests } from "./data.ts";

export type Listed = Awaited<ReturnType<typeof loadRequests>>["data"][number];

interface RequestColumn {
  readonly id: string;
  readonly title: string;
  readonly classes?: Column[1];
  readonly cellClass?: string;
  readonly cell: (request: Listed) => ComponentChildren;
  /** Fields of the request's record in the CSV. */
  readonly fields: readonly (keyof Listed)[];
  /** Whether the column is shown when no columns are chosen. */
  readonly isUsual: boolean;
}

const text = (id: "session_id" | "door" | "operation" | "request_id", title: string): RequestColumn => ({
  id,
  title,
  classes: "wide",
  cell: (request) => <span class="breakable">{request[id] ?? "–"}</span>,
  fields: [id],
  isUsual: false,
});

const tokens = (id: keyof Listed & `${string}_tokens`, title: string, isUsual: boolean): RequestColumn => ({
  id,
  title,
  classes: "wide number",
  cell: (request) => formatCount(request[id]),
  fields: [id],
  isUsual,
});

export const requestColumns: readonly RequestColumn[] = [
  {
    id: "status",
    title: "Status",
    cell: (request) => (
      <>
        <OutcomeBadge outcome={request.outcome} status={request.status} />
        <span class="sub">{reasonOf(request)}</span>
      </>
    ),
    fields: ["outcome", "status", "error_type", "provider_error", "provider_code", "rule", "requests"],
    isUsual: true,
  },
  {
    id: "model",
    title: "Model",
    cellClass: "value-name",
    cell: (request) => (
      <>
        <span>{request.model ?? request.requested_model ?? "No model"}</span>
        <span class="sub">{request.provider}</span>
      </>
    ),
    fields: ["requested_model", "model", "provider"],
    isUsual: true,
  },
  {
    id: "key",
    title: "Key",
    classes: "wide",
    cell: (request) => (
      <>
        <a class="above" href={`/console/keys/${request.key_hash}`}>
          {request.key_name ?? request.key_hash.slice(0, 12)}
        </a>
        {request.user !== null && <span class="sub">{request.user}</span>}
      </>
    ),
    fields: ["key_hash", "key_name", "user"],
    isUsual: true,
  },
  tokens("input_tokens", "Tokens in", true),
  tokens("cached_tokens", "Cached tokens", false),
  tokens("output_tokens", "Tokens out", true),
  tokens("reasoning_tokens", "Reasoning tokens", false),
  {
    id: "first_token",
    title: "First token",
    classes: "wide number",
    cell: (request) => (request.first_token_ms === null ? "–" : formatMilliseconds(request.first_token_ms)),
    fields: ["first_token_ms"],
    isUsual: true,
  },
  {
    id: "duration",
    title: "Duration",
    classes: "wide number",
    cell: (request) => formatMilliseconds(request.duration_ms),
    fields: ["duration_ms"],
    isUsual: true,
  },
  {
    id: "cost",
    title: "Cost",
    classes: "number",
    cell: (request) => <Money of={request.cost_usd} />,
    fields: ["cost_usd"],
    isUsual: true,
  },
  text("session_id", "Session"),
  text("door", "Format"),
  text("operation", "Operation"),
  text("request_id", "Request id"),
];

/** Why a request failed, in the most specific term known. */
const reasonOf = ({ rule, provider_code: code, provider_error: kind, error_type: type, requests }: Listed): string =>
  [rule ?? (kind === null ? type : code === null ? kind : `${kind}: ${code}`), requests > 1 && `${requests} times`]
    .filter(Boolean)
    .join(", ");
