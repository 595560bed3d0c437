/** The outcome of a request, as a word and a colour. */
import type { Call } from "./data.ts";

const tones: Readonly<Record<Call["outcome"], string>> = {
  completed: "good",
  incomplete: "warn",
  failed: "danger",
  cancelled: "",
  lost: "danger",
  refused: "warn",
};

export const OutcomeBadge = ({ outcome, status }: Pick<Call, "outcome" | "status">) => (
  <span class={`badge ${tones[outcome]}`}>
    {status} {outcome}
  </span>
);
