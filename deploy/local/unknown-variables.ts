/** Finds environment variables with a name similar to a variable of Sluice: they are probably misspelled, and would be ignored silently. */
import { nearestWord } from "@sluice/proto/lib/validation/edit-distance.js";

/** Variables read by single services only, not by the supervisor; test/deploy/settings.test.ts keeps the list complete. */
const serviceVariables = [
  "SLUICE_ADMIN_ADDRESS",
  "SLUICE_CONSOLE_LINK",
  "SLUICE_INFERENCE_ADDRESSES",
  "SLUICE_LOG_LEVEL",
  "SLUICE_REGION",
  "SLUICE_SERVICE_TOKEN_FILE",
  "SLUICE_SPOOL_DIR",
  "SLUICE_SPOOL_KEEP_HOURS",
  "SLUICE_SPOOL_KEEP_MIB",
  "SLUICE_WARM_UP_MS",
];

/** Variables of the command line. They are valid names, and too short for other names to be misspellings of them. */
const commandLineVariables: ReadonlySet<string> = new Set(["SLUICE_URL", "SLUICE_MANAGEMENT_KEY", "SLUICE_PROFILE"]);

/** Maximum edit distance of a misspelling; a name with more differences is probably another program's variable. */
const maxEdits = 3;

/** @param known names of the supervisor's settings  @returns a line with a suggestion for each misspelled variable */
export function findMisspelledVariables(environment: NodeJS.ProcessEnv, known: readonly string[]): string[] {
  const names = [...known, ...serviceVariables];
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith("SLUICE_") || names.includes(name) || commandLineVariables.has(name)) return [];
    const nearest = nearestWord(name, names, maxEdits);
    return nearest === undefined ? [] : [`${name} is not a variable of Sluice; did you mean ${nearest}?`];
  });
}
