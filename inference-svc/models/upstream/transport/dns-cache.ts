/** DNS lookups that use the last known address while the name server is down. */
import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** Maximum milliseconds for which an outdated address is used. */
const keptMs = 300_000;

type Answer = Parameters<Parameters<LookupFunction>[2]>;

/**
 * A lookup function for sockets. When a name cannot be resolved, the last answer is used for five minutes, so a short
 * outage of the name server takes no provider away.
 * @param lookUp the system's lookup
 * @param now returns the time in milliseconds
 */
export function cacheLookups(
  lookUp: LookupFunction = lookup,
  now: () => number = () => performance.now(),
): LookupFunction {
  const known = new Map<string, { readonly answer: Answer; readonly at: number }>();
  return (host, options, done) => {
    // Sockets look up with different options, and each option needs an answer of another form.
    const question = `${host} ${options.family ?? 0} ${options.all ?? false}`;
    lookUp(host, options, (...answer) => {
      const [error] = answer;
      if (!error) known.set(question, { answer, at: now() });
      const last = error ? known.get(question) : undefined;
      done(...(last && now() - last.at < keptMs ? last.answer : answer));
    });
  };
}
