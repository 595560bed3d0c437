/**
 * Lakera Guard (POST /v2/guard) as a detector of Sluice.
 *
 * Environment: LAKERA_GUARD_API_KEY, LAKERA_PROJECT_ID (the default policy when unset), LAKERA_ENDPOINT (https://api.lakera.ai), and those of receiver.mjs.
 *
 * At /spans it gives places of personal data and of other matches, for `finds: spans`; at every other path all findings, for `finds: labels`. Labels: the
 * detector types of Lakera (prompt_attack, pii/email, moderated_content/hate, unknown_links), and flagged for whatever the project's policy flags.
 */
import { post, required, serve } from "./receiver.mjs";

const endpoint = (process.env.LAKERA_ENDPOINT ?? "https://api.lakera.ai").replace(/\/$/, "");
const headers = { authorization: `Bearer ${required("LAKERA_GUARD_API_KEY")}` };
const project = process.env.LAKERA_PROJECT_ID;

serve(async ({ text, direction, path }, signal) => {
  const {
    flagged,
    payload = [],
    breakdown = [],
  } = await post(
    `${endpoint}/v2/guard`,
    headers,
    {
      messages: [{ role: direction === "output" ? "assistant" : "user", content: text }],
      payload: true,
      breakdown: true,
      ...(project && { project_id: project }),
    },
    signal,
  );
  if (typeof flagged !== "boolean") throw new Error("Lakera gave no verdict");
  if (path === "/spans") return payload.map(({ detector_type: label, start, end }) => ({ label, start, end }));
  const labels = breakdown.filter(({ detected }) => detected).map(({ detector_type: label }) => ({ label }));
  return flagged ? [...labels, { label: "flagged" }] : labels;
});
