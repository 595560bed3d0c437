/**
 * Makes Azure AI Content Safety (text:analyze, and text:shieldPrompt for requests) a detector of Sluice with `finds: labels`.
 *
 * Environment: CONTENT_SAFETY_ENDPOINT (https://<resource>.cognitiveservices.azure.com), CONTENT_SAFETY_KEY,
 * CONTENT_SAFETY_BLOCKLISTS (names with commas), and the variables of receiver.mjs.
 *
 * Labels: Hate, SelfHarm, Sexual, Violence (score: severity / 7), blocklist:<name>, prompt-attack. The service accepts texts of up to 10,000
 * characters: leave `window_chars` at its default.
 */
import { post, required, serve } from "./receiver.mjs";

const endpoint = required("CONTENT_SAFETY_ENDPOINT").replace(/\/$/, "");
const headers = { "ocp-apim-subscription-key": required("CONTENT_SAFETY_KEY") };
const blocklistNames = (process.env.CONTENT_SAFETY_BLOCKLISTS ?? "").split(",").filter(Boolean);

const maxSeverity = 7;

const call = (operation, body, signal) =>
  post(`${endpoint}/contentsafety/text:${operation}?api-version=2024-09-01`, headers, body, signal);

serve(async ({ text, direction }, signal) => {
  const [{ categoriesAnalysis, blocklistsMatch = [] }, shield] = await Promise.all([
    call("analyze", { text, blocklistNames, outputType: "EightSeverityLevels" }, signal),
    // The service finds prompt attacks in texts of users only, not in answers.
    direction === "input" ? call("shieldPrompt", { userPrompt: text, documents: [] }, signal) : undefined,
  ]);
  if (!Array.isArray(categoriesAnalysis)) throw new Error("Content Safety gave no analysis");
  if (shield && typeof shield.userPromptAnalysis?.attackDetected !== "boolean")
    throw new Error("Content Safety gave no analysis of the prompt");
  return [
    ...categoriesAnalysis
      .filter(({ severity }) => severity > 0)
      .map(({ category, severity }) => ({ label: category, score: severity / maxSeverity })),
    ...blocklistsMatch.map(({ blocklistName }) => ({ label: `blocklist:${blocklistName}` })),
    ...(shield?.userPromptAnalysis.attackDetected ? [{ label: "prompt-attack" }] : []),
  ];
});
