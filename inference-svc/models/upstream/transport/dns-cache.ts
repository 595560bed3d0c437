/** DNS lookups with the last known address as fallback while the name server is down. */
import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** Longest use of an outdated address. */
const keptMs = 300_000;

type Answer = Parameters<Parameters<LookupFunction>[2]>;

/**
 * A lookup function for sockets. When a name cannot be resolved, the last answer is used for five minutes, so a short outage of the name
 * server takes no provider away.
 * @param ask the system's lookup
 * @param now milliseconds
 */
export function cacheLookups(
  lookUp: LookupFunction = lookup,
  now: () => number = () => performance.now(),
): LookupFunction {
  const known = new Map<string, { readonly answer: Answer; readonly at: number }>();
  return (host, options, done) => {
    // Sockets ask with different options, and each needs an answer in its own form.
    const question = `${host} ${options.family ?? 0} ${options.all ?? false}`;
    lookUp(host, options, (...answer) => {
      const [error] = answer;
      if (!error) known.set(question, { answer, at: now() });
      const last = error ? known.get(question) : undefined;
      done(...(last && now() - last.at < keptMs ? last.answer : answer));
    });
  };
}
