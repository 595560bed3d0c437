/** Administrators who assign guardrails to keys in bulk, and a journal of the answers. */
import type { Installation } from "../../support/installation.ts";

/** The keys that one writer changes together: all of them must always have the same guardrail. */
export interface Journal {
  readonly keyHashes: readonly string[];
  /** Guardrail of the last acknowledged write; undefined for none. */
  acknowledged: string | undefined;
  /** Guardrails of writes without an answer, each of which may or may not have happened. */
  uncertain: (string | undefined)[];
}

export interface Writing {
  readonly journals: readonly Journal[];
  /** Number of writes answered with 200. */
  acknowledged: number;
  /** Answers that the contract does not allow for these operations. */
  readonly odd: string[];
}

/** Statuses that may occur: during an outage, 500 with a retry header; 0 stands for no answer at all. */
const expected: ReadonlySet<number> = new Set([0, 200, 500]);

export function startWriting(
  installation: Installation,
  guardrails: readonly string[],
  sets: readonly (readonly string[])[],
  over: () => boolean,
): { readonly writing: Writing; readonly ended: Promise<unknown> } {
  const journals = sets.map((keyHashes): Journal => ({ keyHashes, acknowledged: undefined, uncertain: [] }));
  const writing: Writing = { journals, acknowledged: 0, odd: [] };
  return {
    writing,
    ended: Promise.all(journals.map((journal) => write(installation, guardrails, journal, writing, over))),
  };
}

async function write(
  installation: Installation,
  guardrails: readonly string[],
  journal: Journal,
  writing: Writing,
  over: () => boolean,
): Promise<void> {
  for (let n = 0; !over(); n++) {
    const guardrail = guardrails[n % guardrails.length] as string;
    // Removing a guardrail from a key without it changes nothing, so the outcome is known only if the assignment was acknowledged.
    const remove = n % 5 === 4 && journal.acknowledged === guardrail && journal.uncertain.length === 0;
    const status = await send(installation, guardrail, remove, journal.keyHashes);
    if (!expected.has(status)) writing.odd.push(`${status} to a write`);
    const wanted = remove ? undefined : guardrail;
    if (status !== 200) {
      journal.uncertain.push(wanted);
      continue;
    }
    journal.acknowledged = wanted;
    journal.uncertain = [];
    writing.acknowledged++;
  }
}

async function send(
  installation: Installation,
  guardrail: string,
  remove: boolean,
  keyHashes: readonly string[],
): Promise<number> {
  try {
    const answer = await fetch(
      `${installation.baseUrl}/guardrails/${guardrail}/assignments/keys${remove ? "/remove" : ""}`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
        body: JSON.stringify({ key_hashes: keyHashes }),
        signal: AbortSignal.timeout(60_000),
      },
    );
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}
