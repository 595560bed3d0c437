/** Requests to models, including refused ones. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";

export type Call = Schemas["ListedGeneration"];

export interface CallFilter {
  readonly key: string;
  readonly model: string;
  readonly provider: string;
  readonly outcome: string;
  /** HTTP status. */
  readonly status: string;
  readonly user: string;
  readonly request: string;
  readonly session: string;
  /** Hours back from now; empty means all records. */
  readonly hours: string;
}

export const noFilter: CallFilter = {
  key: "",
  model: "",
  provider: "",
  outcome: "",
  status: "",
  user: "",
  request: "",
  session: "",
  hours: "",
};

export const outcomes = ["completed", "incomplete", "failed", "cancelled", "lost", "refused"] as const;

const pageSize = 50;

export async function loadCalls(filter: CallFilter, cursor: string | undefined) {
  const { key, model, provider, outcome, status, user, request, session, hours } = filter;
  const query = {
    key: given(key),
    model: given(model),
    provider: given(provider),
    outcome: given(outcome) as Call["outcome"] | undefined,
    status: given(status),
    user: given(user),
    request_id: given(request),
    session_id: given(session),
    from: hours === "" ? undefined : new Date(Date.now() - Number(hours) * 3_600_000).toISOString(),
    cursor,
    limit: pageSize,
  };
  return await unwrapAnswer(api.GET("/generations", { params: { query } }));
}

const given = (text: string): string | undefined => (text.trim() === "" ? undefined : text.trim());

export type CallDetail = Pick<Schemas["Generation"], "provider_responses" | "content_expires_at">;

/** A request with its calls to providers; none if it was refused before. */
export async function loadDetail(id: string): Promise<CallDetail> {
  const { data } = await unwrapAnswer(api.GET("/generation", { params: { query: { id } } }));
  return data;
}

/** The prompt and the answer of a request. The audit log records the reading. */
export async function loadContent(id: string): Promise<Schemas["GenerationContent"]> {
  const { data } = await unwrapAnswer(api.GET("/generation/content", { params: { query: { id } } }));
  return data;
}
