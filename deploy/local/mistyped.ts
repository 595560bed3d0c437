/** Variables that look like one of ours and are none: they would be passed over without a word. */

/** Those of the services that have nothing to do with the house as a whole; test/deploy/settings.test.ts holds them complete. */
const ofServices = [
  "SLUICE_ADMIN_ADDRESS",
  "SLUICE_INFERENCE_ADDRESSES",
  "SLUICE_LOG_LEVEL",
  "SLUICE_REGION",
  "SLUICE_SERVICE_TOKEN_FILE",
  "SLUICE_SPOOL_DIR",
];

/** More is another word: people have variables of their own. */
const mostEdits = 3;

/**
 * @param known to the house as a whole
 * @returns a line for each, with what was perhaps meant
 */
export function mistyped(environment: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  const names = [...known, ...ofServices];
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith("SLUICE_") || names.includes(name)) return [];
    const [nearest] = names
      .map((other) => ({ other, edits: editsBetween(name, other) }))
      .filter(({ edits }) => edits <= mostEdits)
      .sort((a, b) => a.edits - b.edits);
    return nearest ? [`${name} is no variable of Sluice; is ${nearest.other} meant?`] : [];
  });
}

/** Letters to put in, take out or replace (Levenshtein). */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 0; i < a.length; i++) {
    const above = row;
    row = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] as number) + (a[i] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] as number) + 1, (row[j - 1] as number) + 1));
    }
  }
  return row[b.length] as number;
}
