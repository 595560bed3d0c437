/**
 * Google Cloud Model Armor (sanitizeUserPrompt, sanitizeModelResponse) as a detector of Sluice.
 *
 * Environment: MODEL_ARMOR_TEMPLATE (projects/<project>/locations/<location>/templates/<template>),
 * MODEL_ARMOR_ENDPOINT (https://modelarmor.<location>.rep.googleapis.com), GCE_METADATA_HOST (metadata.google.internal, whose service account is used), or
 * MODEL_ARMOR_TOKEN instead of it, and those of receiver.mjs.
 *
 * At /spans it gives places of personal data, for `finds: spans`; at every other path all findings, for `finds: labels`. Labels: rai:<type>, prompt-attack,
 * malicious-uri, csam, sdp:<info type>, and matched for whatever matched a filter of the template.
 */
import { post, required, serve } from "./receiver.mjs";

const template = required("MODEL_ARMOR_TEMPLATE");
const location = /\/locations\/([^/]+)\//.exec(template)?.[1];
const endpoint = process.env.MODEL_ARMOR_ENDPOINT ?? `https://modelarmor.${location}.rep.googleapis.com`;

const scores = { LOW_AND_ABOVE: 0.3, MEDIUM_AND_ABOVE: 0.6, HIGH: 0.9 };
const matched = "MATCH_FOUND";

serve(async ({ text, direction, path }, signal) => {
  const [method, body] =
    direction === "output"
      ? ["sanitizeModelResponse", { modelResponseData: { text } }]
      : ["sanitizeUserPrompt", { userPromptData: { text } }];
  const headers = { authorization: `Bearer ${await accessToken(signal)}` };
  const { sanitizationResult } = await post(`${endpoint}/v1/${template}:${method}`, headers, body, signal);
  const { filterMatchState, filterResults = {} } = sanitizationResult ?? {};
  if (filterMatchState !== matched && filterMatchState !== "NO_MATCH_FOUND")
    throw new Error("Model Armor gave no verdict");
  refuseSkipped(filterResults);
  const { findings: personal = [], findingsTruncated } = filterResults.sdp?.sdpFilterResult?.inspectResult ?? {};
  if (path === "/spans" && findingsTruncated) throw new Error("Model Armor gave only some of its findings");
  if (path === "/spans")
    return personal.map(({ infoType, location: { codepointRange } }) => ({
      label: `sdp:${infoType}`,
      start: Number(codepointRange.start ?? 0),
      end: Number(codepointRange.end),
    }));
  const labels = [...labelsOf(filterResults), ...personal.map(({ infoType }) => ({ label: `sdp:${infoType}` }))];
  return filterMatchState === matched ? [...labels, { label: "matched" }] : labels;
});

/** Throws if a filter was skipped, for example because the text is too long: a skipped filter has not examined the text. */
function refuseSkipped(results) {
  const states = JSON.stringify(results).matchAll(/"executionState":"(\w+)"/g);
  for (const [, state] of states) if (state !== "EXECUTION_SUCCESS") throw new Error(`Model Armor: ${state}`);
}

function labelsOf({ rai, pi_and_jailbreak: attack, malicious_uris: uris, csam }) {
  const single = [
    ["prompt-attack", attack?.piAndJailbreakFilterResult],
    ["malicious-uri", uris?.maliciousUriFilterResult],
    ["csam", csam?.csamFilterFilterResult],
  ];
  const types = Object.entries(rai?.raiFilterResult?.raiFilterTypeResults ?? {});
  return [...types.map(([type, result]) => [`rai:${type}`, result]), ...single]
    .filter(([, result]) => result?.matchState === matched)
    .map(([label, { confidenceLevel }]) => ({ label, score: scores[confidenceLevel] ?? 1 }));
}

let known = { token: process.env.MODEL_ARMOR_TOKEN, until: process.env.MODEL_ARMOR_TOKEN ? Infinity : 0 };

/** Access token of the machine's service account, renewed a minute before it expires. */
async function accessToken(signal) {
  if (Date.now() < known.until) return known.token;
  const host = process.env.GCE_METADATA_HOST ?? "metadata.google.internal";
  const response = await fetch(`http://${host}/computeMetadata/v1/instance/service-accounts/default/token`, {
    headers: { "metadata-flavor": "Google" },
    signal,
  });
  if (response.status !== 200) throw new Error(`the metadata server answered ${response.status}`);
  const { access_token: token, expires_in: seconds } = await response.json();
  known = { token, until: Date.now() + (seconds - 60) * 1_000 };
  return token;
}
