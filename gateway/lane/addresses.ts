/** Resolves host names to addresses of inference processes. The name of a headless service resolves to the address of each process. */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Logger } from "@sluice/proto/lib/log/log.js";

/** Finds the address of every existing process, as host:port. */
export type Resolve = () => Promise<ReadonlySet<string>>;

/** Resolves each name; a name whose lookup fails or is empty keeps its last addresses.  @param names names as host:port */
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
