/** Opens a span for each call to a provider, with the names of OpenTelemetry's GenAI conventions. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { serviceOperations } from "@sluice/proto/lib/ledger/call-operation.js";
import type { Attributes, Span, Tracing } from "@sluice/proto/lib/tracing/span.js";
import { untraced } from "@sluice/proto/lib/tracing/context.js";
import type { CallEnd, CallStart } from "../record.ts";
import type { CallObserver } from "./observed-calls.ts";

/** @param providers returns the providers by id, as configured at the time of the call */
export function tracedCalls(tracing: Tracing, providers: () => ReadonlyMap<string, ProviderSettings>): CallObserver {
  const addresses = new WeakMap<ProviderSettings, Attributes>();
  function addressOf(provider: string): Attributes {
    const settings = providers().get(provider);
    if (!settings) return {};
    let address = addresses.get(settings);
    if (!address) addresses.set(settings, (address = addressAttributes(settings.base_url)));
    return address;
  }
  return (opened, { span: parent = untraced }) => {
    const isService = serviceOperations.has(opened.operation);
    const name = isService ? `${opened.operation} ${opened.provider}` : `chat ${opened.upstreamModel}`;
    // A service may have the same name as a provider, but its address is another.
    const attributes = isService ? purposeOf(opened) : { ...attributesOf(opened), ...addressOf(opened.provider) };
    const span = tracing.start(name, { kind: "client", parent, attributes });
    return { span, end: (closed) => end(span, closed) };
  };
}

/** Attributes of a call. The provider's name is its id in the configuration file. */
const attributesOf = (opened: CallStart): Attributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": opened.provider,
  "gen_ai.request.model": opened.upstreamModel,
  "gen_ai.request.stream": opened.streamed,
  "sluice.attempt": opened.attempt,
  ...purposeOf(opened),
});

const purposeOf = (opened: CallStart): Attributes => ({
  "sluice.model": opened.model,
  "sluice.operation": opened.operation,
  "sluice.payer": opened.payer,
});

function end(span: Span, { status, httpStatus, tokens, serviceTier, costUsd, isEstimated }: CallEnd): void {
  span.set({
    "http.response.status_code": httpStatus,
    "sluice.outcome": status,
    "sluice.service_tier": serviceTier === "" ? undefined : serviceTier,
    "sluice.cost_usd": costUsd === undefined ? undefined : Number(costUsd),
    ...(tokens && {
      "gen_ai.usage.input_tokens": tokens.input,
      "gen_ai.usage.output_tokens": tokens.output,
      "gen_ai.usage.cache_read.input_tokens": tokens.cached,
      "gen_ai.usage.cache_creation.input_tokens": tokens.cacheWrite,
      "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
      "sluice.is_estimated": isEstimated,
    }),
  });
  if (status === "failed") span.fail(String(httpStatus));
  span.end();
}

/** The attributes `server.address` and `server.port` of OpenTelemetry for a URL. */
export function addressAttributes(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  return { "server.address": hostname, "server.port": Number(port || (protocol === "https:" ? 443 : 80)) };
}
