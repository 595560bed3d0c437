/** Administrators with bulk assignments, and a journal of the answers. */
import type { Installation } from "../../support/installation.ts";

/** The keys assigned and removed together by one writer: all of them must always hold the same guardrail. */
export interface Journal {
  readonly keyHashes: readonly string[];
  /** Guardrail as of the last acknowledged write; undefined: none. */
  acknowledged: string | undefined;
  /** Writes without an answer: each may or may not have happened. */
  uncertain: (string | undefined)[];
}

export interface Writing {
  readonly journals: readonly Journal[];
  /** Writes with a 200. */
  acknowledged: number;
  /** Answers forbidden by the contract for these operations. */
  readonly odd: string[];
}

/** During an outage the answer is 500 with a header for a retry; 0 stands for no answer at all. */
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
    // Removing a guardrail from a key without it changes nothing, so the outcome is known only after an acknowledged
    // assignment.
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
