/** Endpoints that do badly at the moment are asked after the others; none is left out. */
import type { Percentiles, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Endpoint } from "./catalog.ts";
import type { EndpointRecord, EndpointRecords } from "./endpoint-record.ts";

/**
 * The given order, but first those that keep what is preferred, then those that do not, then those that are ejected.
 * @param tries whether the request is to be the one that tries an endpoint again
 */
export function demoted(
  endpoints: readonly Endpoint[],
  provider: ProviderPreferences | undefined,
  records: EndpointRecords,
  tries: (endpoint: Endpoint) => boolean,
): readonly Endpoint[] {
  const now = records.now();
  const last: Endpoint[] = [];
  const later: Endpoint[] = [];
  const first = endpoints.filter((endpoint, index) => {
    const record = records.find(endpoint);
    if (record === undefined) return true;
    // Only whoever would have gone there first tries it: another one's attempt would say nothing.
    const out = record.ejection.state(now) !== "in use" && !(index === 0 && tries(endpoint));
    if (out) last.push(endpoint);
    else if (provider && misses(record, provider, now)) later.push(endpoint);
    else return true;
    return false;
  });
  return later.length + last.length === 0 ? endpoints : [...first, ...later, ...last];
}

const shares = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const;

/** Of so many in a hundred requests each limit speaks; what was not measured misses nothing. */
function misses(
  { latency, throughput }: EndpointRecord,
  { preferredMaxLatency: most, preferredMinThroughput: least }: ProviderPreferences,
  now: number,
): boolean {
  return (
    anyLimit(most, (limit, share) => (latency.at(share, now) ?? limit) > limit) ||
    anyLimit(least, (limit, share) => (throughput.at(1 - share, now) ?? limit) < limit)
  );
}

function anyLimit(limits: Percentiles | undefined, missed: (limit: number, share: number) => boolean): boolean {
  if (limits === undefined) return false;
  return (["p50", "p75", "p90", "p99"] as const).some((name) => {
    const limit = limits[name];
    return limit !== undefined && missed(limit, shares[name]);
  });
}
