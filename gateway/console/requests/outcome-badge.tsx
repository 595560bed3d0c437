/** The outcome of a request, as a word and a colour. */
import type { Schemas } from "../api/client.ts";

type Outcome = Schemas["ListedGeneration"]["outcome"];

const tones: Readonly<Record<Outcome, string>> = {
  completed: "good",
  incomplete: "warn",
  failed: "danger",
  cancelled: "",
  lost: "danger",
  refused: "warn",
};

export const OutcomeBadge = ({ outcome, status }: { readonly outcome: Outcome; readonly status: number }) => (
  <span class={`badge ${tones[outcome]}`}>
    {status} {outcome}
  </span>
);
