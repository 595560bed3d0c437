/** Which of the first steps are done. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { session } from "../api/session.ts";
import { loadConfigured } from "../providers/data.ts";

export interface Progress {
  /** Whether a provider other than the built-in one serves models. */
  readonly provider: boolean;
  readonly request: boolean;
  readonly budget: boolean;
  readonly guardrail: boolean;
}

export const isComplete = (progress: Progress): boolean => Object.values(progress).every(Boolean);

/** Whether the workspace has had a request. */
export async function hasRequest(): Promise<boolean> {
  const { data } = await unwrapAnswer(api.GET("/generations", { params: { query: { limit: 1 } } }));
  return data.length > 0;
}

export async function loadProgress(): Promise<Progress> {
  const [providers, latest, credits, keys, guardrails] = await Promise.all([
    loadConfigured(),
    hasRequest(),
    unwrapAnswer(api.GET("/credits", {})),
    unwrapAnswer(api.GET("/keys", { params: { query: { limit: 100 } } })),
    unwrapAnswer(api.GET("/guardrails", { params: { query: { limit: 1 } } })),
  ]);
  return {
    provider: providers.some(
      ({ problem, settings, models }) => problem === null && models > 0 && settings["dialect"] !== "echo",
    ),
    request: latest,
    budget: !credits.data.unlimited || keys.data.some(({ limit, expires_at: end }) => limit !== null && end === null),
    guardrail: guardrails.data.length > 0,
  };
}

/** The model for the first request: the catalogue's first model of a real provider, else the built-in model. */
export async function loadFirstModel(): Promise<string> {
  const { data } = await unwrapAnswer(
    api.GET("/models", { params: { query: { limit: 2, output_modalities: "text" } } }),
  );
  return (data.find(({ id }) => id !== "sluice/echo") ?? data[0])?.id ?? "sluice/echo";
}

export async function makeFirstKey(): Promise<string> {
  return (await unwrapAnswer(api.POST("/keys", { body: { name: "first key" } }))).key;
}

export function limitWorkspace(limit: number): Promise<unknown> {
  const params = { path: { id: session.peek()?.workspace.id ?? "" } };
  return unwrapAnswer(api.PATCH("/workspaces/{id}", { params, body: { limit, limit_reset: "monthly" } }));
}

/** The guardrail suggested by the welcome page. */
export const firstGuardrail = {
  name: "Personal data",
  content_filter_builtins: [
    { slug: "email", action: "redact" },
    { slug: "credit-card", action: "block" },
  ],
} as const;

export const tryFirstGuardrail = async (text: string): Promise<Schemas["GuardrailTrialResult"]> => {
  const guardrail = { content_filter_builtins: [...firstGuardrail.content_filter_builtins] };
  return (await unwrapAnswer(api.POST("/guardrails/try", { body: { guardrail, text } }))).data;
};

export const makeFirstGuardrail = (): Promise<unknown> => {
  const body = { ...firstGuardrail, content_filter_builtins: [...firstGuardrail.content_filter_builtins] };
  return unwrapAnswer(api.POST("/guardrails", { body }));
};
