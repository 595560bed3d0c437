/** A model: its endpoints with state, speed and price. */
import { useLoad } from "../api/load.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatCount, formatMilliseconds, formatUptime } from "../parts/words.ts";
import { type Endpoint, loadEndpoints, perMillion } from "./data.ts";

interface RecordProps {
  readonly author: string;
  readonly slug: string;
  readonly onClose: () => void;
}

export function ModelRecord({ author, slug, onClose }: RecordProps) {
  const endpoints = useLoad(() => loadEndpoints(author, slug), [author, slug]);
  return (
    <Dialog title={endpoints.data?.[0]?.model_name ?? `${author}/${slug}`} side onClose={onClose}>
      <p class="mono muted">
        {author}/{slug}
      </p>
      <Show of={endpoints}>
        {(rows) => {
          if (rows.length === 0) return <Empty title="No endpoint serves it" />;
          return rows.map((endpoint) => (
            <EndpointPart key={`${endpoint.tag} ${endpoint.service_tier}`} endpoint={endpoint} />
          ));
        }}
      </Show>
    </Dialog>
  );
}

function EndpointPart({ endpoint }: { endpoint: Endpoint }) {
  const { provider_name: name, service_tier: tier, pricing, latency_last_30m: latency } = endpoint;
  const failing = endpoint.status < 0;
  return (
    <section class="dialog-part">
      <h3 class="with-badge">
        {name}
        {tier !== "default" && <span class="badge">{tier}</span>}
        <span class={failing ? "badge danger" : "badge good"}>{failing ? "Most attempts fail" : "Answers"}</span>
      </h3>
      <dl class="facts">
        <dt>Uptime</dt>
        <dd>
          {(["5m", "30m", "1d"] as const)
            .map((span) => `${span}: ${uptime(endpoint[`uptime_last_${span}`])}`)
            .join(" · ")}
        </dd>
        <dt>First token</dt>
        <dd>{percentiles(latency, formatMilliseconds)}</dd>
        <dt>Tokens a second</dt>
        <dd>{percentiles(endpoint.throughput_last_30m, (value) => value.toFixed(0))}</dd>
        <dt>Price</dt>
        <dd>
          {perMillion(pricing.prompt)} in, {perMillion(pricing.completion)} out, for a million tokens
          {pricing.input_cache_read !== undefined && `; ${perMillion(pricing.input_cache_read)} from the cache`}
        </dd>
        <dt>Context</dt>
        <dd>{formatCount(endpoint.context_length)} tokens</dd>
        <dt>Region</dt>
        <dd>{endpoint.region}</dd>
        <dt>Retention</dt>
        <dd>{endpoint.data_policy.zero_retention ? "None" : "Not declared"}</dd>
        <dt>Parameters</dt>
        <dd class="mono">{endpoint.supported_parameters.join(", ")}</dd>
      </dl>
    </section>
  );
}

const uptime = (value: unknown): string => (typeof value === "number" ? formatUptime(value) : "no calls");

const percentiles = (of: Endpoint["latency_last_30m"], format: (value: number) => string): string =>
  of ? `p50 ${format(of.p50)} · p90 ${format(of.p90)} · p99 ${format(of.p99)}` : "not measured in 30 minutes";
