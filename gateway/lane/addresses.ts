/** Resolves names to addresses of inference processes: a headless service has an address for each process. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Logger } from "@sluice/proto/lib/log/log.js";

/** Finds host:port of every existing process. */
export type Resolve = () => Promise<ReadonlySet<string>>;

/**
 * A failed or empty DNS answer keeps the name's last good answer.
 * @param names host:port
 */
export function createResolver(names: readonly string[], log: Logger): Resolve {
  const known = new Map<string, readonly string[]>();
  return async () => {
    for (const name of names) known.set(name, (await resolveName(name, log)) ?? known.get(name) ?? []);
    return new Set([...known.values()].flat());
  };
}

async function resolveName(name: string, log: Logger): Promise<readonly string[] | undefined> {
  const colon = name.lastIndexOf(":");
  const host = name.slice(0, colon);
  if (isIP(host) !== 0) return [name];
  try {
    const answers = await lookup(host, { all: true, family: 4 });
    return answers.length === 0 ? undefined : answers.map(({ address }) => `${address}${name.slice(colon)}`);
  } catch (error) {
    log.warn({ err: error, host }, "cannot resolve inference address");
    return undefined;
  }
}
