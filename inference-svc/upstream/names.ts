/** Where providers are found: by the name service, and by what it said last while it says nothing. */
import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** A provider that has moved is looked for in the wrong place for so long. */
const keptMs = 300_000;

type Answer = Parameters<Parameters<LookupFunction>[2]>;

/**
 * A lookup for sockets. What cannot be resolved is where it was at most five minutes ago: a name service that is down for a moment takes no
 * provider away.
 * @param ask the system's own
 * @param now milliseconds
 */
export function rememberedNames(
  ask: LookupFunction = lookup,
  now: () => number = () => performance.now(),
): LookupFunction {
  const known = new Map<string, { readonly answer: Answer; readonly at: number }>();
  return (host, options, done) => {
    // Sockets ask in different ways, and each expects the answer of its own.
    const question = `${host} ${options.family ?? 0} ${options.all ?? false}`;
    ask(host, options, (...answer) => {
      const [error] = answer;
      if (!error) known.set(question, { answer, at: now() });
      const last = error ? known.get(question) : undefined;
      done(...(last && now() - last.at < keptMs ? last.answer : answer));
    });
  };
}
