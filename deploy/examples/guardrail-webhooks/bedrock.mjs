/**
 * Amazon Bedrock Guardrails (ApplyGuardrail) as a detector of Sluice.
 *
 * Environment: AWS_REGION, AWS_BEARER_TOKEN_BEDROCK (an API key of Bedrock), BEDROCK_GUARDRAIL_ID, BEDROCK_GUARDRAIL_VERSION (DRAFT),
 * BEDROCK_ENDPOINT (https://bedrock-runtime.<region>.amazonaws.com), and those of receiver.mjs.
 *
 * At /spans it gives places of words and personal data, for `finds: spans`; at every other path all findings, for `finds: labels`. Labels: topic:<name>,
 * content:<type>, word, pii:<type>, regex:<name>, grounding:<type>, and intervened for whatever made the guardrail intervene.
 */
import { placesOf, post, required, serve } from "./receiver.mjs";

const token = required("AWS_BEARER_TOKEN_BEDROCK");
const endpoint = process.env.BEDROCK_ENDPOINT ?? `https://bedrock-runtime.${required("AWS_REGION")}.amazonaws.com`;
const guardrail = encodeURIComponent(required("BEDROCK_GUARDRAIL_ID"));
const version = encodeURIComponent(process.env.BEDROCK_GUARDRAIL_VERSION ?? "DRAFT");

const scores = { LOW: 0.3, MEDIUM: 0.6, HIGH: 0.9 };

const isFound = ({ detected, action }) => detected ?? (action !== undefined && action !== "NONE");

serve(async ({ text, direction, path }, signal) => {
  const { action, assessments = [] } = await post(
    `${endpoint}/guardrail/${guardrail}/version/${version}/apply`,
    { authorization: `Bearer ${token}` },
    { source: direction === "output" ? "OUTPUT" : "INPUT", content: [{ text: { text } }] },
    signal,
  );
  if (action !== "NONE" && action !== "GUARDRAIL_INTERVENED") throw new Error("Bedrock gave no verdict");
  const found = assessments.flatMap(entriesOf).filter(isFound);
  if (path === "/spans")
    return found
      .filter(({ match }) => match !== undefined)
      .flatMap(({ label, score, match }) => {
        const places = placesOf(text, match);
        if (places.length === 0) throw new Error(`Bedrock found ${label}, which is not in the text`);
        return places.map((place) => ({ label, score, ...place }));
      });
  const labels = found.map(({ label, score }) => ({ label, score }));
  return action === "NONE" ? labels : [...labels, { label: "intervened" }];
});

/** The findings of all policies of the guardrail, each with its label. */
function entriesOf({ topicPolicy, contentPolicy, wordPolicy, sensitiveInformationPolicy, contextualGroundingPolicy }) {
  const entries = (list = [], labelOf) => list.map((entry) => ({ score: 1, ...entry, label: labelOf(entry) }));
  return [
    ...entries(topicPolicy?.topics, ({ name }) => `topic:${name}`),
    ...entries(contentPolicy?.filters, ({ type }) => `content:${type}`).map((entry) => ({
      ...entry,
      score: scores[entry.confidence] ?? 1,
    })),
    ...entries(wordPolicy?.customWords, () => "word"),
    ...entries(wordPolicy?.managedWordLists, () => "word"),
    ...entries(sensitiveInformationPolicy?.piiEntities, ({ type }) => `pii:${type}`),
    ...entries(sensitiveInformationPolicy?.regexes, ({ name }) => `regex:${name}`),
    ...entries(contextualGroundingPolicy?.filters, ({ type }) => `grounding:${type}`).map((entry) => ({
      ...entry,
      score: 1,
    })),
  ];
}
